"""A run that goes on elsewhere, in the terminal."""

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from elastream.cli.terminal.live_picture import Moment
from elastream.cli.terminal.live_view import LiveView
from elastream.cli.terminal.strips import compact, spelt_time
from elastream.core.bounds import spell_bounds
from elastream.core.observation import Observation, Query
from elastream.core.tick import Tick
from elastream.evaluation.measures import living_queries
from elastream.evaluation.predictions import find_expected, find_horizon
from elastream.journal.format import Header
from elastream.journal.story import StoryFold
from elastream.journal.story_line import Line
from elastream.render.page.feed import KEEP
from elastream.render.page.moment import find_state

SHOWN_S = 1800.0
"""The strips show so much of the run, up to its last moment."""
SHOWN_CHANGES, SHOWN_QUERIES = 3, 4


class WatchView(LiveView):
    """The picture of a run of which neither the beginning nor the end is known."""

    def __init__(self, folder: Path) -> None:
        super().__init__(0.0, title=f"waiting for the first tick in {folder}", tick_s=5.0, clock=self._last_moment)
        self._last_utc_s = 0.0
        self._header: Header | None = None
        self._story = StoryFold()
        self._changes: deque[Line] = deque(maxlen=SHOWN_CHANGES)

    def begin_run(self, header: Header) -> None:
        """A run begins, or a file of it."""
        with self._lock:
            if self._header is None or self._header.run != header.run:
                self._story = StoryFold()
            self._header = header
            self.series.begin(tick_s=header.tick_s, max_age_s=header.max_age_s)
            self._title = f"{header.name or header.application or header.platform} under {header.policy}"
            self._notes = header.notes

    def write(self, tick: Tick) -> None:
        """Take in one tick."""
        self._last_utc_s = max(self._last_utc_s, tick.utc_s)
        super().write(tick)
        with self._lock:
            self._changes += [line for line in self._story.update(tick) if _is_told(line)]
            if len(self.series.at) > 2 * KEEP:
                self.series.trim(KEEP)
            if self.series.at:
                self._zero_utc_s = max(self.series.start, self.series.at[-1] - SHOWN_S)

    def _moment(self) -> Moment:
        tick = self.series.last_tick
        if tick is None:
            return super()._moment()
        state = find_state(tick, None if self._header is None else self._header.pause)
        return replace(super()._moment(), state=state, more=[*self._list_facts(tick), *self._list_changes()])

    def _list_facts(self, tick: Tick) -> Iterator[str]:
        now = tick.observation
        if now is None:
            return
        if asked := now.control.sentence():
            yield f"asked: {asked}"
        if tick.decision is not None:
            horizon_s = None if self._header is None else find_horizon(self._header.policy_settings)
            ahead = "" if horizon_s is None else f" within {horizon_s:g} s"
            mean, low, high = find_expected(tick.decision, living_queries(now))
            if mean is not None and low is not None and high is not None:
                yield f"expected{ahead}: {compact(mean)}/s, mostly {compact(low)}..{compact(high)}/s"
            elif high is not None:
                yield f"expected{ahead}: at most {compact(high)}/s"
        yield from _list_pools(now)
        for query in living_queries(now)[:SHOWN_QUERIES]:
            yield f"{query.name}: {', '.join(_facts_of(query))}"

    def _list_changes(self) -> Iterator[str]:
        shown = [*self._changes, *(line for line in self._story.open_lines() if _is_told(line))]
        for line in reversed(shown[-SHOWN_CHANGES:]):
            sizes = ", ".join(f"{before} -> {after}" for before, after in line.changes.values())
            ready = "" if line.ready_after_s is None else f", ready after {line.ready_after_s:.0f} s"
            came = "".join(f"; {effect.sentence()}" for effect in line.effects)
            yield f"{line.clock}  {sizes or line.reason}{ready}{came}"

    def _last_moment(self) -> float:
        return self._last_utc_s


def _is_told(line: Line) -> bool:
    return line.what in ("change", "asked")


def _list_pools(now: Observation) -> Iterator[str]:
    for pool in now.pools:
        room = "" if now.cluster_workers is None else f", room for {now.cluster_workers}"
        sizes = f"wanted {pool.wanted}, requested {pool.requested}, ready {pool.ready}, leaving {pool.leaving}"
        yield f"{pool.name}: {sizes}; bounds {spell_bounds(pool.min_workers, pool.max_workers)}{room}"


def _facts_of(query: Query) -> Iterator[str]:
    yield query.phase
    if query.backlog is not None:
        yield f"backlog {compact(query.backlog)}"
    if query.delay is not None:
        yield f"p95 {spelt_time(query.delay.p95_s)}"
    if query.finished is not None:
        yield f"batch {spelt_time(query.finished.duration_s)}"
    if query.state is not None and query.state.bytes is not None:
        yield f"state {query.state.bytes.value / 2**20:.1f} MiB"
    yield from (f"uneven: {source.uneven}" for source in query.sources if source.uneven)
