"""What a run came to over a part of its time: the same count for what was recorded and what is simulated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from elastream.advice.recorded_run import add_up, committed_of
from elastream.core.observation import Observation, Query, Reading
from elastream.core.slo import OnTime, Slo, worst_of
from elastream.core.tick import Tick
from elastream.estimators.delay import Stretch, quantiles, records_within
from elastream.evaluation.measures import Value
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import integrate
from elastream.workloads.series import RateSeries

SHARE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceFigures:
    """What is compared. None is unknown."""

    executor_hours: Value
    """Paid for."""
    within: Value
    """Share of the records that were committed within the bound."""
    delay_p95_s: Value
    """Over all records that were committed."""
    changes: int
    busy_slot_s: Value
    """Of tasks."""


class RunSpan:
    """Ticks of one run under a known load, to be measured over any part of its time. Both begin with the first tick."""

    def __init__(self, ticks: Sequence[Tick], loads: Mapping[str, RateSeries], tick_s: float, max_age_s: float) -> None:
        self.ticks = [tick for tick in ticks if tick.observation is not None]
        self._looks = [tick.observation for tick in self.ticks if tick.observation is not None]
        self._tick_s, self._max_age_s = tick_s, max_age_s
        start_s = ticks[0].at_s
        self._stretches = {
            name: list(find_stretches(_commits(self._looks, name, start_s), load)) for name, load in loads.items()
        }
        self.start_s = start_s

    def measure(self, since_s: float, until_s: float, slo: Slo | None) -> AdviceFigures:
        """Its numbers from a time to another, after its first tick."""
        ticks = [tick for tick in self.ticks if since_s <= tick.at_s - self.start_s <= until_s]
        looks = [tick.observation for tick in ticks if tick.observation is not None]
        series = self.draw(since_s, until_s)
        parts = [part for found in self._stretches.values() for part in found if since_s < part.committed_s <= until_s]
        return AdviceFigures(
            executor_hours=integrate(series, series.column("paid"))[1] / 3600 if looks else None,
            within=self._within(looks, slo, since_s, until_s),
            delay_p95_s=float(quantiles(parts, (SHARE,))[0]) if parts else None,
            changes=series.actions.actions,
            busy_slot_s=_busy(looks),
        )

    def draw(self, since_s: float, until_s: float) -> RunSeries:
        """The same part as a series."""
        series = RunSeries(tick_s=self._tick_s, max_age_s=self._max_age_s)
        for tick in self.ticks:
            if since_s <= tick.at_s - self.start_s <= until_s:
                series.update(tick)
        return series

    def _within(self, looks: Sequence[Observation], slo: Slo | None, since_s: float, until_s: float) -> Value:
        """As it was counted while it ran, where that was the bound; else from what each look tells."""
        if slo is None:
            return None
        counted = [(slo, one) for one in _judged(looks, slo)]
        if not counted:
            found = [
                records_within([part for part in parts if since_s < part.committed_s <= until_s], slo.delay_s)
                for parts in self._stretches.values()
            ]
            counted = [(slo, OnTime(records=records, within=within)) for records, within in found]
        worst = worst_of(counted)
        return None if worst is None else worst[1].share


def find_stretches(commits: Iterable[tuple[float, float]], load: RateSeries) -> Iterator[Stretch]:
    """The delays of what was committed, given how much of a load was committed when; times are those of the load.

    Batches that no look told apart end together.
    """
    total, known = load.arrived(load.duration_s), 0.0
    for count, ended_s in commits:
        committed = min(count, total)
        if ended_s <= load.duration_s and committed > known:
            for began_s, until_s, records in load.pieces(known, committed):
                yield Stretch(ended_s, max(ended_s - until_s, 0.0), max(ended_s - began_s, 0.0), records)
            known = committed


def _commits(looks: Sequence[Observation], name: str, start_s: float) -> Iterator[tuple[float, float]]:
    """How many records of a query were committed since the first look, and when the batch of the last of them ended.

    Of batches that ended between two looks the last is known; those before it took as long, one after the other or, if
    there is a trigger, as far apart.
    """
    seen = [(query, reading) for query in _named(looks, name) if (reading := committed_of(query)) is not None]
    for (query, _), added in zip(seen, add_up([reading for _, reading in seen]), strict=True):
        if (last := query.finished) is not None:
            if last.rows is not None:
                apart_s = max(last.duration_s, query.trigger.interval_s or 0.0)
                yield added.value - last.rows, last.ended_s - apart_s - start_s
            yield added.value, last.ended_s - start_s


def _named(looks: Sequence[Observation], name: str) -> Iterator[Query]:
    return (query for now in looks for query in now.queries if query.name == name)


def _judged(looks: Sequence[Observation], slo: Slo) -> Iterator[OnTime]:
    """What was counted between the first look and the last, of each query that was promised just that."""
    for name in dict.fromkeys(query.name for now in looks for query in now.queries):
        seen = [query.on_time for query in _named(looks, name) if query.on_time is not None and query.slo == slo]
        if not seen:
            continue
        records, within = (
            add_up([Reading(count, 0.0) for count in counts])[-1].value
            for counts in ([one.records for one in seen], [one.within for one in seen])
        )
        if records > 0:
            yield OnTime(records=records, within=within)


def _busy(looks: Sequence[Observation]) -> Value:
    readings = [pool.busy_slot_s for now in looks for pool in now.pools if pool.busy_slot_s is not None]
    return add_up(readings)[-1].value if len(readings) > 1 else None
