"""A published evaluation, run again: its plans, then what they gave beside its tables, as text and as a page.

A document has a folder here with its plans, its tables as CSV, and a `__main__.py` that says which runs stand for which
cells. `python -m experiments.kanis` then runs what is not there yet, prints what it came to and writes, below `--out`:

    PLAN/               the runs of a plan, as `elastream experiment run` leaves them, with the laboratory's report.html
    evaluation.html     every table beside what was found, with rank correlations and errors
    evaluation.txt      the same as text
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from elastream.cli import main as elastream
from elastream.core.errors import BadInput, ElastreamError
from elastream.experiments.replication.account import Account, Chapter
from elastream.experiments.replication.page import make_page
from elastream.experiments.replication.results import PlanResults, read_results
from elastream.experiments.replication.scoring import TableScore
from elastream.experiments.replication.text import make_text, tell_totals

PAGE, TEXT = "evaluation.html", "evaluation.txt"
Tell = Callable[[Mapping[str, PlanResults]], Account]
"""What the results come to, by the names of their plans: those that were not run are not there."""
Scored = Mapping[str, tuple[str, str, Callable[[PlanResults], list[TableScore]]]]
"""Plan -> the title of its chapter, what to know before its numbers, and what scores its runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A document's evaluation."""

    folder: Path
    plans: Sequence[str]
    """Names of plans beside it, in the order in which they are run."""
    tell: Tell
    apart: Sequence[str] = ()
    """Plans that are only run where they are named, as those that want a cluster for an hour."""


def make_chapters(scored: Scored, results: Mapping[str, PlanResults]) -> list[Chapter]:
    """A chapter for each plan that was run."""
    return [
        Chapter(title=title, told=[told], results=[results[plan]], scores=score_runs(results[plan]))
        for plan, (title, told, score_runs) in scored.items()
        if plan in results
    ]


def evaluate(what: Evaluation, arguments: Sequence[str] | None = None) -> int:
    """Run and score it; the code to exit with."""
    given = _parse(what, what.folder.name).parse_args(arguments)
    for plan in (given.plans or what.plans) if not given.score_only else ():
        if code := run_plan(what, plan, given.out, on=given.on):
            return code
    try:
        account = score(what, given.out)
    except ElastreamError as wrong:
        print(f"experiments.{what.folder.name}: {wrong}", file=sys.stderr)
        return 1
    print("\n".join(tell_totals(account)))
    for file in (TEXT, PAGE):
        print(given.out / file)
    return 0


def run_plan(what: Evaluation, plan: str, out: Path, *, on: str) -> int:
    """Run what is not there yet of a plan, and write its report; the code to exit with."""
    folder = out / plan
    code = elastream(["experiment", "run", str(what.folder / f"{plan}.yaml"), "--out", str(folder), "--on", on])
    return code or elastream(["report", str(folder)])


def score(what: Evaluation, out: Path) -> Account:
    """What the plans gave that were run, as text and as a page beside them."""
    account = what.tell(dict(_read(what, out)))
    out.mkdir(parents=True, exist_ok=True)
    for made, content in ((PAGE, make_page(account)), (TEXT, make_text(account))):
        (out / made).write_text(content, encoding="utf-8")
    return account


def _read(what: Evaluation, out: Path) -> Iterator[tuple[str, PlanResults]]:
    """Of plans that were run, what they gave; those that only older code has run are told and left out."""
    for plan in (*what.plans, *what.apart):
        if not (out / plan / "runs").is_dir():
            continue
        try:
            yield plan, read_results(what.folder / f"{plan}.yaml", out / plan)
        except BadInput as lack:
            print(f"left out: {lack}", file=sys.stderr)


def _parse(what: Evaluation, name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{name}", description="Run and score this evaluation.")
    every = [*what.plans, *what.apart]
    parser.add_argument("plans", nargs="*", metavar="PLAN", choices=[[], *every], help=f"of {', '.join(every)}")
    parser.add_argument(
        "--out", type=Path, default=Path("results") / name, metavar="FOLDER", help="where runs are kept"
    )
    parser.add_argument("--on", default="processes", help="as of `elastream experiment run`; live plans run `local`")
    parser.add_argument("--score-only", action="store_true", help="run nothing, and score what is there")
    return parser
