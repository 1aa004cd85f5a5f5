"""What a recorded run did, and why, for a person: a line per change of target or of reason, not one per tick."""

import re
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from elastream.core.decision import Adjustment
from elastream.core.observation import Observation
from elastream.core.tick import Tick
from elastream.journal.format import Header
from elastream.journal.reader import Recording
from elastream.journal.story_line import Effect, EffectUnit, GuardHold, Line, What

# For so long what comes of a change is waited for.
_EFFECT_WITHIN_S = 600.0
_EFFECTS: tuple[tuple[str, str, EffectUnit], ...] = (
    ("effect_expected_s", "effect_took_s", "s a batch"),
    ("effect_expected_rps", "effect_rps", "records/s"),
)
"""As the evidence calls what was expected and what came of it."""
_NUMBER = re.compile(r"[+-]?\d[\d,._]*")


def sentences(recording: Recording) -> Iterator[Line]:
    """The lines of a recording, oldest first."""
    run = None
    story = StoryFold()
    for part in recording.parts:
        for tick in part.ticks:
            if part.header.run != run:
                yield from story.end()
                story, run = StoryFold(), part.header.run
                yield begin_line(part.header, tick)
            yield from story.update(tick)
    yield from story.end()


@dataclass(slots=True)
class _Group:
    """Ticks that say the same."""

    key: Hashable
    first: Tick
    last: Tick
    changes: dict[str, tuple[int, int]]
    asked: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    ticks: int = 0
    ready_after_s: float | None = None
    overtaken: bool = False
    last_at_s: float = 0.0
    effects: tuple[Effect, ...] = ()
    said: Line | None = None
    """What people asked ahead of a tick, in the place of ticks."""

    @property
    def is_open(self) -> bool:
        """Whether later ticks may still say when it was done, and what came of it."""
        return bool(self.changes) and not self.overtaken and (self.ready_after_s is None or self._awaits_effect)

    @property
    def _awaits_effect(self) -> bool:
        """Policies that say what they expect do so with every change."""
        decision = self.first.decision
        return (
            decision is not None
            and bool(decision.note)
            and not self.effects
            and self.last_at_s - self.first.at_s < _EFFECT_WITHIN_S
        )

    def add(self, tick: Tick) -> None:
        self.last = tick
        self.ticks += 1
        for note in _notes(tick):
            low, high = self.asked.get((note.guard, note.pool), (note.before, note.before))
            self.asked[note.guard, note.pool] = min(low, note.before), max(high, note.before)

    def look(self, now: Observation, tick: Tick) -> None:
        """See whether the change is done, and what came of it."""
        if not self.is_open:
            return
        self.last_at_s = tick.at_s
        sizes = {pool.name: pool.ready for pool in now.pools if not pool.leaving}
        if self.ready_after_s is None and all(sizes.get(pool) == after for pool, (_, after) in self.changes.items()):
            self.ready_after_s = tick.at_s - self.first.at_s
        if self.ready_after_s is not None and not self.effects:
            before = set(_effects(self.first, self.changes))
            # What came of an earlier change is still told.
            self.effects = tuple(one for one in _effects(tick, self.changes) if one not in before)

    def line(self) -> Line:
        if self.said is not None:
            return self.said
        decision = self.first.decision
        return Line(
            what=_what(self.first, self.changes),
            number=self.first.number,
            at_s=self.first.at_s,
            utc_s=self.first.utc_s,
            sizes=dict(decision.allocation) if decision else {},
            changes=self.changes,
            reason=decision.reason if decision else "; ".join(self.first.troubles) or "no look",
            held=tuple(
                GuardHold(
                    guard=note.guard,
                    pool=note.pool,
                    asked=self.asked[note.guard, note.pool],
                    after=note.after,
                    reason=note.reason,
                )
                for note in _notes(self.first)
            ),
            troubles=self.first.troubles if decision else (),
            limits=tuple(self.first.limits()),
            ticks=self.ticks,
            lasted_s=self.last.at_s - self.first.at_s,
            ready_after_s=self.ready_after_s,
            overtaken=self.overtaken,
            effects=self.effects,
        )


class StoryFold:
    """Folds ticks into groups. A change waits for its end, and what comes after it waits behind it."""

    def __init__(self) -> None:
        self._waiting: deque[_Group] = deque()

    def update(self, tick: Tick) -> Iterator[Line]:
        """Lines that are complete with this tick."""
        if tick.observation is not None:
            for group in self._waiting:
                group.look(tick.observation, tick)
        if tick.interventions:
            self._waiting.append(_Group(key=None, first=tick, last=tick, changes={}, said=_asked_line(tick)))
        changes = tick.decision.changes(tick.observation) if tick.decision and tick.observation else {}
        key = _key(tick, changes)
        if not self._waiting or self._waiting[-1].key != key:
            self._begin(_Group(key=key, first=tick, last=tick, changes=changes))
        self._waiting[-1].add(tick)
        # The newest may go on, so it waits too.
        while len(self._waiting) > 1 and not self._waiting[0].is_open:
            yield self._waiting.popleft().line()

    def end(self) -> Iterator[Line]:
        """What was still waiting."""
        while self._waiting:
            yield self._waiting.popleft().line()

    def open_lines(self) -> Iterator[Line]:
        """What may still go on, as far as it has come."""
        for group in self._waiting:
            yield group.line()

    def _begin(self, group: _Group) -> None:
        for earlier in self._waiting:
            if earlier.is_open and set(earlier.changes) & set(group.changes):
                earlier.overtaken = True
        self._waiting.append(group)


def begin_line(header: Header, tick: Tick) -> Line:
    """That a run begins, with its first tick."""
    now = tick.observation
    application = f", application {header.application}" if header.application else ""
    return Line(
        what="start",
        number=tick.number,
        at_s=tick.at_s,
        utc_s=tick.utc_s,
        sizes=now.wanted() if now else {},
        changes={},
        reason=f"policy {header.policy} on {header.platform}{application}, a look every {header.tick_s:g} s",
    )


def _effects(tick: Tick, changes: dict[str, tuple[int, int]]) -> Iterator[Effect]:
    """What the policy says was expected of a size that is one of these, and what came of it."""
    evidence = tick.decision.evidence if tick.decision else {}
    sizes = {after for _, after in changes.values()}
    for key, workers in evidence.items():
        query, _, name = key.rpartition("/")
        if name != "effect_workers" or workers not in sizes:
            continue
        for expected, real, unit in _EFFECTS:
            said, came = evidence.get(f"{query}/{expected}"), evidence.get(f"{query}/{real}")
            if _is_number(said) and _is_number(came):
                yield Effect(query, unit, float(said), float(came))


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _asked_line(tick: Tick) -> Line:
    return Line(
        what="asked",
        number=tick.number,
        at_s=tick.at_s,
        utc_s=tick.interventions[0].utc_s,
        sizes={},
        changes={},
        reason="; ".join(one.sentence() for one in tick.interventions),
    )


def _what(tick: Tick, changes: dict[str, tuple[int, int]]) -> What:
    if tick.observation is None or tick.decision is None:
        return "blind"
    if changes:
        return "change"
    return "hold" if tick.decision.kind == "hold" else "keep"


def _key(tick: Tick, changes: dict[str, tuple[int, int]]) -> Hashable:
    """Equal for ticks that say the same but for their numbers."""
    troubles = tuple(_class(trouble) for trouble in tick.troubles)
    limits = tuple((one.kind, one.query) for one in tick.bottlenecks)
    what = _what(tick, changes)
    # The same change on ticks in a row is one change that has not been carried out.
    if what == "change":
        return what, tuple(changes.items()), troubles
    reason = _class(tick.decision.reason) if tick.decision else ""
    return what, reason, tuple((note.guard, note.pool) for note in _notes(tick)), troubles, limits


def _class(sentence: str) -> str:
    return _NUMBER.sub("#", sentence)


def _notes(tick: Tick) -> tuple[Adjustment, ...]:
    return tick.decision.adjustments if tick.decision else ()
