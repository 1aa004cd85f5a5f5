"""Plan a recorded run again, and compare what is decided."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from elastream.config import build_guards
from elastream.core.decision import Decision
from elastream.core.errors import JournalError, spell_error
from elastream.core.observation import Observation
from elastream.core.protocols import Guard, Policy
from elastream.core.tick import Tick
from elastream.journal.format import Header, differs
from elastream.journal.reader import Part, Recording
from elastream.loop.planner import Planner
from elastream.policies import policies

GuardsGiven = Mapping[str, Mapping[str, object] | Guard[Any]]
"""Name -> settings, or a guard already built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A tick on which something else is decided than was recorded."""

    number: int
    at_s: float
    utc_s: float
    recorded: Decision
    planned: Decision

    def sentence(self) -> str:
        """One line for a person."""
        return (
            f"tick {self.number} at {self.at_s:.1f} s: recorded {_told(self.recorded)}; planned {_told(self.planned)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A recording planned again."""

    ticks: int
    """Ticks that were planned; those without a look cannot be."""
    missing: int
    """Ticks that were never recorded."""
    unknown: int = 0
    """Ticks that were planned and not compared: what was remembered before them is not in the journal."""
    differences: tuple[Difference, ...]
    changed: bool
    """Whether another policy or other guards than the recorded ones planned."""

    @property
    def meaningful_until(self) -> int | None:
        """The tick up to which the comparison says something; None if it does to the end."""
        return self.differences[0].number if self.differences else None

    def sentence(self) -> str:
        """What came out, and how far it can be trusted."""
        told = [f"{self.ticks} ticks planned again, {len(self.differences)} decided otherwise"]
        if self.missing:
            told.append(f"{self.missing} ticks are missing in the recording, which may be why")
        if self.unknown:
            told.append(f"{self.unknown} could not be compared, for what was remembered before them was dropped")
        if self.differences:
            first = self.differences[0].number
            told.append(
                f"meaningful up to tick {first}, the first difference: from there on the recorded application "
                "followed the recorded decisions and not these"
            )
        return "; ".join(told)


def replay(
    recording: Recording,
    *,
    policy: str | Policy[Any] | None = None,
    policy_settings: Mapping[str, object] | None = None,
    guards: GuardsGiven | None = None,
    trusted: Collection[str] = (),
) -> Replayed:
    """Plan every recorded look again, with the recorded policy and guards unless others are given.

    A journal may come from anybody: a class that it names by its module is imported only if that name is `trusted`.

    Every file starts from its own snapshot, so that runs and gaps between files do no harm. What another policy
    remembered is of no use to a new one: it goes on over the files of a run and starts anew with the next run.
    """
    planned = missing = unknown = last = 0
    differences: list[Difference] = []
    planner, run, changed, whole = None, None, False, True
    for part in recording.parts:
        goes_on = part.header.run == run
        _require_trust(part, policy is None, guards is None, trusted)
        new = _planner(part.header, policy, policy_settings, guards)
        same = differs(part.header, new) is None
        here = part.header.memory == "here"
        if planner is None or not goes_on or (same and here):
            planner = new
            _start(planner, part, with_memory=same)
            whole = here
        elif part.header.memory == "lost":
            whole = whole and not same
        for tick in part.ticks:
            gap = max(0, tick.number - last - 1) if goes_on else 0
            missing += gap
            # What is not here follows from the tick before, if that is there.
            whole = whole and not (gap and same and not here)
            last, goes_on = tick.number, True
            if tick.observation is not None and tick.decision is not None:
                planned += 1
                found = list(_compared(tick, tick.observation, tick.decision, planner))
                differences += found if whole else ()
                unknown += not whole
        run, changed = part.header.run, changed or not same
    return Replayed(ticks=planned, missing=missing, unknown=unknown, differences=tuple(differences), changed=changed)


def alike(one: Decision, other: Decision) -> bool:
    """Whether two decisions do the same. Their words may differ: a sentence is no decision."""
    return (one.allocation, one.kind, one.leave_first, one.add_on) == (
        other.allocation,
        other.kind,
        other.leave_first,
        other.add_on,
    )


def _require_trust(part: Part, is_policy_recorded: bool, are_guards_recorded: bool, trusted: Collection[str]) -> None:
    """Raise JournalError where a journal alone would have somebody's module imported."""
    named = [("policy", part.header.policy)] if is_policy_recorded else []
    named += [("guard", name) for name in part.header.guards] if are_guards_recorded else []
    for kind, name in named:
        if ":" in name and name not in trusted:
            raise JournalError(
                f"{part.name}: the {kind} is {name}, a class outside of Elastream, and nothing is imported because a "
                f"journal names it; --trust {name} allows it, or name another with --{kind}"
            )


def _planner(
    header: Header,
    policy: str | Policy[Any] | None,
    policy_settings: Mapping[str, object] | None,
    guards: GuardsGiven | None,
) -> Planner:
    if policy is None:
        policy, policy_settings = header.policy, header.policy_settings
    chosen = policies.build(policy, policy_settings or {}) if isinstance(policy, str) else policy
    return Planner(chosen, _built(header.guards if guards is None else guards), frozenset(header.provides))


def _built(guards: GuardsGiven) -> dict[str, Guard[Any]]:
    settings = {name: given for name, given in guards.items() if isinstance(given, Mapping)}
    ready = {name: given for name, given in guards.items() if not isinstance(given, Mapping)}
    return {**build_guards(settings), **ready}


def _start(planner: Planner, part: Part, *, with_memory: bool) -> None:
    if part.snapshot is None:
        return
    # What was seen does not depend on who decided; what was remembered does.
    try:
        snapshot = part.snapshot if with_memory else {**planner.snapshot(), "known": part.snapshot["known"]}
        planner.restore(snapshot)
    except Exception as wrong:
        raise JournalError(f"{part.name}: the snapshot cannot be used: {spell_error(wrong)}") from wrong


def _compared(tick: Tick, now: Observation, recorded: Decision, planner: Planner) -> Iterator[Difference]:
    planned = planner.plan(now).decision
    if not alike(recorded, planned):
        yield Difference(number=tick.number, at_s=tick.at_s, utc_s=tick.utc_s, recorded=recorded, planned=planned)


def _told(decision: Decision) -> str:
    sizes = ", ".join(f"{pool} {workers}" for pool, workers in decision.allocation.items())
    return f"{decision.kind} {sizes} ({decision.sentence()})"
