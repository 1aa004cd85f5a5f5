"""What `foresight` is worth, measured: `python -m experiments.foresight` runs a core of it and tells what it came to.

    python -m experiments.foresight                           # what is left of the core, and the verdict
    python -m experiments.foresight core optimum --half scored --job enrich --seed 1
    python -m experiments.foresight ablation calm slo outside knobs
    python -m experiments.foresight tune-enrich && python -m experiments.foresight --settle
    python -m experiments.foresight everything                # every policy, five seeds: days of a processor
    python -m experiments.foresight live                      # on real executors
    python -m experiments.foresight --score-only

All plans leave their runs in one folder, so that none is run twice; Ctrl-C keeps what is finished. The verdict is over
what is there, says of how many runs it is, and lies in `evidence.md` beside them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from elastream.cli import main as elastream
from elastream.cli.terminal.plan_progress import PlanProgress
from elastream.core.errors import BadInput, ElastreamError
from elastream.experiments.plan.checks import check_plan
from elastream.experiments.plan.matrix import Case, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.replication.results import PlanResults, read_results
from elastream.experiments.runner.runner import Processes, find_status, run_cases
from elastream.experiments.store.folder import EXPERIMENT, RUNS, RunStore
from elastream.experiments.store.stored_files import UNREADABLE, read_experiment_file
from experiments.foresight.pages import tell_against, tell_core, tell_equal
from experiments.foresight.rows import HERE, Least, Row, Situation, read_half, read_least, read_rows
from experiments.foresight.settings import JOBS, settle

TEXT = "evidence.md"
CORE = ("core", "optimum")
HALVES = {"scored": "scored-half.yaml", "tuned": "tuned-half.yaml"}
TITLES = {
    "ablation": ("Each part of foresight left out", "foresight"),
    "calm": ("The price of a change", "calm 0"),
    "slo": ("Other promises", "lag-proportional"),
    "outside": ("Engines that foresight does not model", "lag-proportional"),
}
"""Plans in which policies are held against one of them: its title, and that one."""
EVERYTHING, LIVE = "everything", "live"
TUNING = tuple(f"tune-{job}" for job in JOBS)
BEST = tuple(f"best-{job}" for job in JOBS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and tell what it came to; the code to exit with."""
    given = _parse().parse_args(arguments)
    try:
        if given.settle:
            print(*settle(given.out), sep="\n")
            return 0
        for plan in () if given.score_only else given.plans or CORE:
            if code := _run(plan, given):
                return code
        return _tell(given.out)
    except KeyboardInterrupt:
        print(f"what is finished stays in {given.out}; the same command goes on", file=sys.stderr)
        return 130
    except ElastreamError as wrong:
        print(f"experiments.foresight: {wrong}", file=sys.stderr)
        return 1


def find_plan(name: str) -> Path:
    """The file of a plan."""
    return HERE.with_suffix(".yaml") if name == EVERYTHING else HERE / f"{name}.yaml"


def _run(name: str, given: argparse.Namespace) -> int:
    """What is not there yet of a plan."""
    file = find_plan(name)
    if not file.is_file():
        raise BadInput(f"{name}: there is no such plan yet; `--settle` writes it once settings were searched for")
    if name in TUNING:
        return elastream(["tune", str(file), "--out", str(given.out / name)])
    if name == LIVE:
        return elastream(["experiment", "run", str(file), "--out", str(given.out / name), "--on", "local"])
    plan = read_plan(file)
    how = plan.document.how
    cases = [case for case in check_plan(multiply(plan)).cases if _is_wanted(case, given)]
    if not cases:
        raise BadInput(f"{name}: it has no such experiment; its loads are {', '.join(multiply(plan).axes['workload'])}")
    store = RunStore(given.out).open()
    try:
        store.keep_plan(plan)
        statuses = find_status(store, cases, find_least=how.least_size, find_optimum=how.optimum)
        to_run = [one for one in statuses if one.is_to_run]
        print(f"{name}: {len(to_run):,} of {len(statuses):,} runs are left", file=sys.stderr)
        with PlanProgress(quiet=False) as told:
            told.begin(to_run)
            _, failed = run_cases(
                store, statuses, Processes(given.processes), plan=name, find_least=how.least_size,
                find_optimum=how.optimum, tell=told.done,
            )  # fmt: skip
    finally:
        store.close()
    return 1 if failed else 0


def _is_wanted(case: Case, given: argparse.Namespace) -> bool:
    load = case.labels["workload"]
    return (
        (not given.seed or case.experiment.seed in given.seed)
        and (not given.job or case.labels["model"] in given.job)
        and (given.half is None or load not in read_half(HALVES[given.half]))
        and (not given.load or load in given.load)
    )


def _tell(out: Path) -> int:
    lines = list(tell_all(out))
    if not lines:
        raise BadInput(f"{out}: nothing was run yet")
    text = "\n".join(lines)
    (out / TEXT).write_text(f"{text}\n", encoding="utf-8")
    print(text)
    return 0


def tell_all(out: Path) -> Iterator[str]:
    """Everything that is known of what was run by the present code."""
    there = {*CORE, *find_plans(out)}
    found = {name: results for name in ("optimum", "core", EVERYTHING, "knobs", *TITLES, *BEST)
             if name in there and (results := _read(name, out)) is not None}  # fmt: skip
    least: dict[Situation, Least] = read_least(found["optimum"]) if "optimum" in found else {}
    halves = {half: read_half(file) for half, file in HALVES.items()}
    core = {
        (row.policy, row.at): row for name in ("core", EVERYTHING) if name in found for row in read_rows(found[name])
    }
    if core:
        yield from _told("As they come", [found[name] for name in ("core", EVERYTHING) if name in found])
        yield from tell_core(list(core.values()), least, halves)
    best: list[Row] = [row for name in BEST if name in found for row in read_rows(found[name])]
    if best:
        yield from _told("With their best settings", [found[name] for name in BEST if name in found])
        yield from tell_core(best, least, {"scored": halves["scored"]})
    if "knobs" in found:
        yield from _told("At the same share", [found["knobs"]])
        yield from tell_equal(read_rows(found["knobs"]), least)
    for name, (title, base) in TITLES.items():
        if name in found:
            yield from _told(title, [found[name]])
            yield from tell_against(title, read_rows(found[name]), base)
    if LIVE in find_plans(out / LIVE) and (live := _read(LIVE, out / LIVE)) is not None:
        yield from _told("On real executors", [live])
        yield from tell_against("On real executors", read_rows(live), "lag-proportional")


def find_plans(out: Path) -> set[str]:
    """The plans that runs were made for; what they share with others says nothing of those."""
    found = set()
    for file in (out / RUNS).glob(f"[!.]*/{EXPERIMENT}"):
        # A run that is damaged is told by `elastream experiment list`.
        with suppress(*UNREADABLE):
            found.add(str(read_experiment_file(file).get("plan")))
    return found


def _told(title: str, results: Sequence[PlanResults]) -> Iterator[str]:
    yield f"# {title}"
    yield ""
    for one in results:
        yield f"{one.name}: {len(one.runs):,} of {len(one.runs) + one.missing:,} runs."
    yield ""


def _read(name: str, out: Path) -> PlanResults | None:
    """None where nothing of it was run by the present code, or its recordings lack."""
    if not (out / RUNS).is_dir():
        return None
    try:
        return read_results(find_plan(name), out)
    except BadInput:
        return None


def _parse() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.foresight",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    every = [*CORE, "knobs", *TITLES, *TUNING, *BEST, EVERYTHING, LIVE]
    parser.add_argument("plans", nargs="*", metavar="PLAN", choices=[[], *every], help=f"of {', '.join(every)}")
    parser.add_argument(
        "--out", type=Path, default=Path("results/foresight"), metavar="FOLDER", help="where runs are kept"
    )
    parser.add_argument("--half", choices=list(HALVES), help="only loads of this half of the recordings")
    parser.add_argument("--job", action="append", choices=JOBS, help="only this job")
    parser.add_argument("--load", action="append", help="only this load")
    parser.add_argument("--seed", type=int, action="append", help="only this seed")
    parser.add_argument("--processes", type=int, default=None, help="side by side; as many as there are cores")
    parser.add_argument("--settle", action="store_true", help="write what searches have chosen as plans, and end")
    parser.add_argument("--score-only", action="store_true", help="run nothing, and tell what is there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
