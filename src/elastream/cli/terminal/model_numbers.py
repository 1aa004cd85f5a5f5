"""The numbers of a simulator's model, and where they come from."""

import math
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from elastream.cli.terminal.output import console, print_line, print_table
from elastream.cli.terminal.strips import compact
from elastream.config import settings_of
from elastream.core.bounds import spell_bounds
from elastream.core.quantity import spell_seconds
from elastream.simulator.catalogue import MODELS, measured_jobs
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel
from elastream.simulator.published import PUBLISHED


def find_origin(name: str) -> str:
    """Where the numbers of a model that comes with the simulator were measured."""
    if name in PUBLISHED:
        return "from a published document; simulator/published.py says of each number whether it was told there"
    if name in MODELS:
        return "measured nowhere: a stand-in made from orders of magnitude that real jobs have"
    return f"measured from a recorded run of the job: simulator/measured_jobs/{measured_jobs()[name].name}"


def describe_model(model: ApplicationModel | DataflowModel, origin: str) -> dict[str, object]:
    """All of it as plain values, with where they come from."""
    engine = "continuous" if isinstance(model, DataflowModel) else "micro-batch"
    numbers: object = _finite(settings_of(model))
    return {"name": model.name, "engine": engine, "doc": model.doc, "from": origin, "numbers": numbers}


def print_model(model: ApplicationModel | DataflowModel, origin: str) -> None:
    """For a person: its pools, and what each stage or operator costs; `origin` is where the numbers come from."""
    screen = console()
    screen.print(Text.assemble((model.name, "bold"), f": {model.doc}"))
    screen.print(Text(origin, style="dim"))
    for name, pool in model.pools.items():
        slots = "1 slot" if pool.slots_per_worker == 1 else f"{pool.slots_per_worker} slots"
        bounds = spell_bounds(pool.min_workers, pool.max_workers)
        starts = f"{bounds} workers of {slots}, begins with {pool.initial_workers}, a new one takes {pool.start_s:g} s"
        print_line(screen, f"pool {name}: {starts}")
    if isinstance(model, DataflowModel):
        screen.print()
        print_table(screen, _operators(model))
    else:
        for query in model.queries:
            screen.print()
            print_line(screen, _query(query))
            print_table(screen, _stages(query))


def _query(query: QueryModel) -> str:
    every = query.trigger.interval_s
    trigger = "as fast as possible" if every is None else f"a batch every {spell_seconds(every)}"
    work_s = query.slot_s_per_record()
    rate = f", {compact(1 / work_s)} records/s per slot" if work_s else ""
    return f"query {query.name}: {trigger}{rate}, {query.plan_s + query.commit_s:.2f} s of the driver per batch"


def _stages(query: QueryModel) -> Table:
    rows = [
        (
            stage.name,
            ", ".join(stage.after),
            str(stage.partitions),
            f"{stage.slot_s_per_record * 1e6:.3g} us",
            f"{stage.task_s * 1e3:.3g} ms",
            f"{stage.records_out:.3g}",
            "yes" if stage.stateful else "",
        )
        for stage in query.stages
    ]
    return _table(("stage", "after", "tasks", "per record", "per task", "out", "state"), rows)


def _operators(model: DataflowModel) -> Table:
    rows = [
        (
            operator.name,
            ", ".join(f"{feed.name} x{feed.selectivity:g}" for feed in operator.after),
            f"{compact(operator.rate_rps)}/s",
            "any" if operator.buffer is None else compact(operator.buffer),
            "yes" if operator.stateful else "",
        )
        for operator in model.operators
    ]
    return _table(("operator", "after", "rate of one", "buffer", "state"), rows)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        is_number = heading not in ("stage", "operator", "after", "state")
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=heading != "after")
    for row in rows:
        table.add_row(*row)
    return table


def _finite(value: object) -> object:
    """JSON has no infinity, which stands for what has no bound."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
