"""What table III of Gesscale (Arkian et al., ICCCN 2021) hangs on: the beginning of a sensitivity study, no replay.

The table is not reproducible from its document: one run per policy, nodes drawn at random, no values for the model's
alpha, beta and gamma, for the drop threshold, the bounds or the delays between nodes, and two costs half a percent
apart. So nothing is fitted here. Everything that the document leaves open is drawn, evenly over a range that was
written down before the first run, and each draw is a world in which the four policies run once, as in the document.
What is told is in how many worlds each order of the table comes out, and which of the open values that depends on.

Run it with `python -m experiments.gesscale_table3`; 60 worlds take four minutes of a processor. Two days of taxi rides
at ten times their speed, seven workers with network delays of up to 300 ms, a job that stands still for 120 s at every
change.

Told by the document: rides, speed, downtime, seven nodes, that all workers stop at a change and are started again, and
the mean that an ideal scaler would have, from which the capacity of a worker follows. Told by its public code: where a
run begins, delays of nodes, and a pace of its own. `OPEN` is what neither tells.

Of 60 worlds the whole order comes out in 6 (reconfigurations), 0 (cost), 10 (excess time) and 25 (timeshare O). What
hardly depends on the draw is that Gesscale changes no more often than MDL-NLUnaware (53) and costs no more (56), and
that THR-NLAware has no more excess time than MDL-NLUnaware (50). No open value decides alone: most does the pace, with
that of the public code 63 % of the pairs hold instead of 51 %.
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from itertools import combinations, pairwise
from random import Random
from statistics import mean, quantiles
from typing import Any

import numpy as np

from elastream.core.protocols import Policy
from elastream.core.tick import Tick
from elastream.policies import policies
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    OperatorModel,
    PlacesModel,
    RestartModel,
)
from elastream.simulator.run import Simulation
from elastream.workloads.series import RateSeries
from elastream.workloads.tracefile import read_recording

# From the document.
DAYS = 2
SPEED = 10  # V-A: ten seconds of the recording in one
MEAN_RPS = 174.0  # V-A: about a million rides, each three times, in 288 minutes
DOWNTIME_S = 120.0  # II-C
# V-A: of ten boards one is the master and one stores and monitors; the JobManager has one of its own.
MOST = 7
# Mean of what an ideal scaler would have, from table III: cost / 288 min - accuracy O + accuracy U is 3.1 to 3.3
# workers for each of the four. The capacity of one worker follows from it. Nothing binds that scaler to two workers.
IDEAL_WORKERS = 3.25
IDEAL_LEAST = 1

# From the public code.
START = 2
LEAST = 2  # of the model-based; its thresholds may leave one alone, here all have the same bounds
# Delay of each node; between two nodes it is that of the farther one. The document says 0 to 300 ms, the public code
# names these seven (there the fourth has another number, which shifts the rest; here they are in order).
NODES_MS = {
    "brussels": 5.0,
    "amsterdam": 50.0,
    "madrid": 55.0,
    "london": 100.0,
    "rome": 150.0,
    "stockholm": 200.0,
    "helsinki": 300.0,
}

# Not in the document, chosen here.
TRACE = "dsp_taxi_300s"  # taxi rides of New York, but of February 2020; it begins on a Saturday
FIRST_DAY = 4  # a Wednesday and a Thursday, as the first two days of May 2013 were
BASELINE_RPS = 78_000.0  # what the authors of the trace added to it
TICK_S = 15.0
MOST_EXCESS = 0.3  # a run that has not drained by then is cut off; the longest of the document took 0.163

DURATION_S = DAYS * 86_400 / SPEED
POLICIES = {
    "THR-NLUnaware": "thr-nlunaware",
    "THR-NLAware": "thr-nlaware",
    "MDL-NLUnaware": "mdl-nlunaware",
    "Gesscale": "gesscale",
}
MODEL_BASED = ("MDL-NLUnaware", "Gesscale")
NETWORK_AWARE = ("THR-NLAware", "Gesscale")
# The public code waits 300 s after every change; its thresholds read the processors of one moment, every 30 s; its
# model-based scalers want to see an overload twice.
PACES: dict[str, dict[str, dict[str, object]]] = {
    "document": {},
    "code": {
        "THR-NLUnaware": {"warm_up_s": 300.0, "interval_s": 30.0, "window_s": TICK_S},
        "THR-NLAware": {"warm_up_s": 300.0, "interval_s": 30.0, "window_s": TICK_S},
        "MDL-NLUnaware": {"warm_up_s": 300.0, "overloads": 2},
        "Gesscale": {"warm_up_s": 300.0, "overloads": 2, "shrink_to": "threshold"},
    },
}


@dataclass(frozen=True, kw_only=True)
class World:
    """What the document leaves open, as drawn once."""

    scaling: float
    """n workers do the work of n ** scaling, before delays."""
    delay_cost: float
    """What 300 ms cost, in workers."""
    idle: float
    """Share of what delays cost in which processors are idle: it says only that their use does not show overload."""
    scatter: float
    """Standard deviation of the processor use that is read off one worker at one moment."""
    drop: float
    """Threshold of the model-based policies."""
    pace: float
    """Below a half that of the document, else that of the public code."""
    seed: int

    @property
    def settings(self) -> dict[str, dict[str, object]]:
        """Of each policy."""
        return PACES["document" if self.pace < 0.5 else "code"]


# Ours, and chosen before any run: from no effect to one that could not have been overlooked.
OPEN: dict[str, tuple[float, float]] = {
    "scaling": (0.5, 1.0),
    "delay_cost": (0.0, 2.0),
    "idle": (0.0, 1.0),
    "scatter": (0.0, 0.4),
    "drop": (0.05, 0.5),
    "pace": (0.0, 1.0),
}


def worlds(count: int) -> list[World]:
    """So many draws, always the same ones."""
    random = Random("gesscale")
    drawn = [{name: random.uniform(*within) for name, within in OPEN.items()} for _ in range(count)]
    return [World(**values, seed=number) for number, values in enumerate(drawn)]


@dataclass(frozen=True)
class Row:
    """One line of table III."""

    accuracy_over: float
    accuracy_under: float
    timeshare_over_pct: float
    timeshare_under_pct: float
    excess_time: float
    reconfigurations: float
    cost: float


PUBLISHED = {
    "THR-NLUnaware": Row(1.636, 0.742, 51.11, 30.28, 0.163, 25, 1199.5),
    "THR-NLAware": Row(1.517, 0.640, 46.67, 22.99, 0.115, 19, 1193.75),
    "MDL-NLUnaware": Row(1.713, 0.622, 60.42, 25.00, 0.126, 16, 1270.5),
    "Gesscale": Row(0.838, 0.499, 49.31, 21.74, 0.042, 12, 999.5),
}


@dataclass(frozen=True)
class TwoDays:
    """The rides of two days, and nothing after them. Implements Workload."""

    trace: str = TRACE
    baseline_rps: float = BASELINE_RPS
    first_day: int = FIRST_DAY

    def series(self, *, duration_s: float, seed: int = 0) -> RateSeries:
        """At ten times the speed, and of the document's mean rate."""
        recording = read_recording(self.trace)
        first_s = self.first_day * 86_400.0
        inside = (recording.times_s >= first_s) & (recording.times_s < first_s + DAYS * 86_400)
        rates = np.maximum(0.0, recording.rates[inside] - self.baseline_rps)
        times = (recording.times_s[inside] - first_s) / SPEED
        rates *= MEAN_RPS / float(rates.mean())
        return RateSeries(np.append(times, DURATION_S), np.append(rates, 0.0), duration_s)


@dataclass(frozen=True)
class Capacity:
    """What workers can take in: one worker's rate, how it grows, and the loss for a millisecond of delay."""

    alpha_rps: float
    beta: float
    gamma_rps: float

    def rps(self, workers: int) -> float:
        """Of so many workers on the nearest nodes."""
        delay_ms = sorted(NODES_MS.values())[workers - 1] if workers > 1 else 0.0
        return self.alpha_rps * math.pow(workers, self.beta) - self.gamma_rps * delay_ms

    def needed(self, rate_rps: float) -> int:
        """What the ideal scaler has."""
        return next((n for n in range(IDEAL_LEAST, MOST) if self.rps(n) >= rate_rps), MOST)


def capacity(curve: RateSeries, world: World) -> Capacity:
    """The capacity with which the ideal scaler has the mean that table III implies."""
    rates = curve.rate(np.arange(0.0, DURATION_S, TICK_S)).tolist()
    low, high = 1.0, 10 * MEAN_RPS
    while high - low > 1e-3:
        alpha = (low + high) / 2
        found = Capacity(alpha, world.scaling, world.delay_cost * alpha / max(NODES_MS.values()))
        low, high = (alpha, high) if mean(map(found.needed, rates)) > IDEAL_WORKERS else (low, alpha)
    return found


def job(can: Capacity, world: World, label: str) -> DataflowModel:
    """One stateless operator that reads the log, on any of the nodes.

    Who knows the network begins on the nearest nodes. For the others all workers stop at a change and start anywhere,
    because the document scales their deployment to zero and up again (section IV-E).
    """
    names = list(NODES_MS)
    delays = {a: {b: max(NODES_MS[a], NODES_MS[b]) for b in names if b != a} for a in names}
    aware = label in NETWORK_AWARE
    nearest = OperatorModel(
        name="nearest",
        after=(Feed("rides"),),
        rate_rps=can.alpha_rps,
        scaling=can.beta,
        delay_cost_rps=can.gamma_rps,
        delay_idle=world.idle,
        buffer=100.0,
    )
    pool = replace(WARM, min_workers=LEAST, max_workers=MOST, initial_workers=START, cpu_noise=world.scatter)
    return DataflowModel(
        name="taxi",
        logs=(LogModel(name="rides"),),
        operators=(nearest,),
        pools={"nearest": pool},
        restart=RestartModel(grow_s=DOWNTIME_S, shrink_s=DOWNTIME_S),
        places=PlacesModel(
            nodes=tuple(names), delays_ms=delays, start=tuple(names[:START]) if aware else (), anew=not aware
        ),
    )


@dataclass
class Watched:
    """Workers and backlog of a run, look after look. Implements Journal."""

    at_s: list[float] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)
    workers: list[int] = field(default_factory=list)
    """That run. None while the job restarts: the document takes all replicas away and puts them back, and only so do
    its accuracies and timeshares of too few workers agree with its numbers of reconfigurations."""
    backlog: list[float] = field(default_factory=list)

    def write(self, tick: Tick) -> None:
        """Take in one look, with what was decided on it."""
        assert tick.observation is not None
        assert tick.decision is not None
        assert not tick.troubles, tick.troubles
        self.at_s.append(tick.at_s)
        self.wanted.append(sum(tick.decision.allocation.values()))
        (query,) = tick.observation.queries
        self.workers.append(0 if query.phase == "restarting" else sum(pool.ready for pool in tick.observation.pools))
        self.backlog.append(query.backlog or 0.0)

    def close(self) -> None:
        """Nothing to close."""

    def row(self, curve: RateSeries, can: Capacity) -> Row:
        """The metrics of section V-A, over the time in which rides come.

        So is the cost: with the 288 minutes of input the table's costs agree with its accuracies, with the time it
        took to drain they do not.
        """
        looks = [i for i, at_s in enumerate(self.at_s) if at_s < DURATION_S]
        over = [self.workers[i] - can.needed(float(curve.rate(self.at_s[i]))) for i in looks]
        drained_s = next(
            (t for t, left in zip(self.at_s, self.backlog, strict=True) if t >= DURATION_S and left < 1), None
        )
        ended_s = self.at_s[-1] if drained_s is None else drained_s
        return Row(
            accuracy_over=mean(max(0, more) for more in over),
            accuracy_under=mean(max(0, -more) for more in over),
            timeshare_over_pct=100 * mean(more > 0 for more in over),
            timeshare_under_pct=100 * mean(more < 0 for more in over),
            excess_time=(ended_s - DURATION_S) / DURATION_S,
            reconfigurations=sum(a != b for a, b in pairwise(self.wanted[i] for i in looks)),
            cost=sum(self.workers[i] for i in looks) * TICK_S / 60,
        )


def policy(label: str, world: World) -> Policy[Any]:
    """One of the four. Its bounds are those of the pool."""
    own = {"drop": world.drop} if label in MODEL_BASED else {}
    return policies.build(POLICIES[label], {**world.settings.get(label, {}), **own})


def run(label: str, load: TwoDays, can: Capacity, world: World) -> Row:
    """One run, until all is processed."""
    watched = Watched()
    simulation = Simulation(
        job(can, world, label),
        load,
        policy(label, world),
        name="policy",
        duration_s=DURATION_S * (1 + MOST_EXCESS),
        tick_s=TICK_S,
        seed=world.seed,
    )
    simulation.run([watched])
    return watched.row(load.series(duration_s=DURATION_S), can)


def table(load: TwoDays, world: World) -> dict[str, Row]:
    """The document's table, in one world."""
    can = capacity(load.series(duration_s=DURATION_S), world)
    return {label: run(label, load, can, world) for label in POLICIES}


ORDERS: dict[str, tuple[Callable[[Row], float], Sequence[str]]] = {
    "reconfigurations": (
        lambda row: row.reconfigurations,
        ("Gesscale", "MDL-NLUnaware", "THR-NLAware", "THR-NLUnaware"),
    ),
    "cost": (lambda row: row.cost, ("Gesscale", "THR-NLAware", "THR-NLUnaware", "MDL-NLUnaware")),
    "excess time": (lambda row: row.excess_time, ("Gesscale", "THR-NLAware", "MDL-NLUnaware", "THR-NLUnaware")),
    "timeshare O": (lambda row: row.timeshare_over_pct, ("THR-NLAware", "Gesscale")),
}
"""What table III sorts, least first."""


def pairs() -> list[tuple[str, str, str]]:
    """What is compared, and of which two the first has less of it in the document."""
    return [(what, low, high) for what, (_, order) in ORDERS.items() for low, high in combinations(order, 2)]


def holds(pair: tuple[str, str, str], rows: dict[str, Row]) -> bool:
    """Whether it is so in a table; a tie does not speak against it."""
    what, low, high = pair
    value, _ = ORDERS[what]
    return value(rows[low]) <= value(rows[high])


def say(line: str) -> None:
    """One line of the results."""
    sys.stdout.write(f"{line}\n")


def show_values(tables: Sequence[dict[str, Row]]) -> None:
    """Print the middle half of every value over all worlds, beside the document's."""
    for number, what in enumerate(one.name for one in fields(Row)):
        say(f"{what}:")
        for label in POLICIES:
            low, _, high = quantiles([astuple(rows[label])[number] for rows in tables], n=4)
            say(f"  {label:14} {low:8.3g} to {high:8.3g}   document {astuple(PUBLISHED[label])[number]:g}")


def show_orders(drawn: Sequence[World], tables: Sequence[dict[str, Row]]) -> None:
    """Print in how many worlds each pair and each whole order comes out, and what each open value changes of it."""
    for what in ORDERS:
        of = [pair for pair in pairs() if pair[0] == what]
        whole = sum(all(holds(pair, rows) for pair in of) for rows in tables)
        say(f"{what}: the whole order in {whole} of {len(tables)} worlds")
        for pair in of:
            say(f"  {pair[1]} at most {pair[2]}: {sum(holds(pair, rows) for rows in tables)}")
    say("pairs that hold, below and above the middle of each open value:")
    for name, (low, high) in OPEN.items():
        halves = [
            [
                rows
                for world, rows in zip(drawn, tables, strict=True)
                if (getattr(world, name) > (low + high) / 2) == side
            ]
            for side in (False, True)
        ]
        say(
            f"  {name:10} "
            + "  ".join(f"{mean(holds(p, rows) for rows in half for p in pairs()):.0%}" for half in halves)
        )


def main() -> None:
    """Print the orders of the table over many worlds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=60, help="draws of what the document leaves open")
    parser.add_argument("--trace", default=TRACE)
    parser.add_argument("--baseline", type=float, default=BASELINE_RPS)
    parser.add_argument("--first-day", type=int, default=FIRST_DAY)
    given = parser.parse_args()
    load = TwoDays(given.trace, given.baseline, given.first_day)
    drawn = worlds(given.worlds)
    tables = [table(load, world) for world in drawn]
    show_values(tables)
    show_orders(drawn, tables)


if __name__ == "__main__":
    main()
