"""All published evaluations, run again, and a page that leads to each: `python -m experiments`.

What is there and was run by the same code is not run again. Plans that want a cluster are only run where they are named
(`python -m experiments.kanis live`); their runs stand on the page once they are there.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from elastream.core.errors import ElastreamError
from elastream.core.quantity import spell_seconds
from elastream.experiments.plan.checks import check_plan
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.replication.index import IndexEntry, make_index
from elastream.experiments.replication.text import tell_totals
from elastream.experiments.runner.execution import find_cost
from elastream.experiments.runner.runner import find_status
from elastream.experiments.store.folder import RunStore
from experiments.replication import PAGE, Evaluation, run_plan, score

HERE = Path(__file__).parent
INDEX, REPORT = "index.html", "report.html"


class TimeLeft:
    """How long all plans will take, from how long the first ones took."""

    def __init__(self, costs: Sequence[float]) -> None:
        self._costs = list(costs)
        self._done, self._began_s = 0.0, time.monotonic()

    def begin(self, number: int) -> str:
        """What to say when a plan begins."""
        left, self._done = sum(self._costs[number:]), sum(self._costs[:number])
        if not left:
            return "nothing is left to run"
        if not self._done:
            return ""
        left_s = (time.monotonic() - self._began_s) * left / self._done
        return f"about {spell_seconds(round(left_s))} left of all"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and score all; the code to exit with."""
    given = _parse().parse_args(arguments)
    evaluations = {name: evaluation for name, evaluation in find_evaluations() if name in (given.names or [name])}
    plans = [(name, one, plan) for name, one in evaluations.items() for plan in one.plans]
    left = TimeLeft([_find_cost(one.folder / f"{plan}.yaml", given.out / name / plan) for name, one, plan in plans])
    failed: dict[str, str] = {}
    for number, (name, one, plan) in enumerate(plans):
        told = left.begin(number)
        print(f"== {name}: {plan}, {number + 1} of {len(plans)}{f'; {told}' if told else ''}", file=sys.stderr)
        if code := run_plan(one, plan, given.out / name, on=given.on):
            failed[name] = f"{name}: {plan} ended with code {code}"
            if code == INTERRUPTED:
                return code
    entries = []
    for name, one in evaluations.items():
        try:
            entries.append(IndexEntry(folder=name, account=score(one, given.out / name)))
        except ElastreamError as wrong:
            failed.setdefault(name, f"{name}: {wrong}")
    print("\n\n".join("\n".join(tell_totals(entry.account)) for entry in entries))
    for line in failed.values():
        print(line, file=sys.stderr)
    (given.out / INDEX).write_text(make_index(entries, PAGE, REPORT, list(failed.values())), encoding="utf-8")
    print(given.out / INDEX)
    return 1 if failed else 0


INTERRUPTED = 130


def find_evaluations() -> Iterator[tuple[str, Evaluation]]:
    """Each folder here that has one, of a published document."""
    for file in sorted(HERE.glob("*/__main__.py")):
        name = file.parent.name
        found = getattr(import_module(f"experiments.{name}.__main__"), "EVALUATION", None)
        if found is not None:
            yield name, found


def _find_cost(plan: Path, folder: Path) -> float:
    """Of what is to be run of a plan, in no unit. What is wrong with a plan is told when it is run."""
    try:
        statuses = find_status(RunStore(folder), check_plan(multiply(read_plan(plan))).cases)
    except ElastreamError:
        return 0.0
    return sum(find_cost(one.case.experiment) for one in statuses if one.is_to_run)


def _parse() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description="Run published evaluations again.")
    names = [name for name, _ in find_evaluations()]
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *names], help=f"of {', '.join(names)}")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="FOLDER", help="where runs are kept")
    parser.add_argument("--on", default="processes", help="as of `elastream experiment run`")
    return parser


if __name__ == "__main__":
    sys.exit(main())
