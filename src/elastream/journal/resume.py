"""A restarted controller goes on with what the one before it had learned."""

import os
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from elastream.core.control import Control
from elastream.core.decision import Decision
from elastream.core.errors import JournalError, clip, spell_error
from elastream.core.observation import Observation
from elastream.core.printable import one_line
from elastream.daemons.private_folder import owner_name
from elastream.journal.format import Header, Shape, differs, elastream_version, fingerprint, shape
from elastream.journal.reader import Part, read
from elastream.journal.replay import alike
from elastream.journal.writer import journal_files
from elastream.loop.planner import Planner

# A clock that is set right by the network jumps by less; a machine that started again or slept is off by more.
_CLOCKS_APART_S = 60.0


class _StartAnew(Exception):
    """Why the past is of no use."""


class _OtherRun(_StartAnew):
    """Why it is the past of another run of the same job: its times mean nothing here, and what jobs cost does."""


def resume(planner: Planner, path: Path, now: Observation) -> str:
    """Make a new planner remember what the journal at `path` tells, if that still holds; say what was done.

    Call it with the first look, before that is planned and before a new file of the journal is begun.
    """
    try:
        parts = _newest(path)
        part, looks = parts[0], _looks(parts)
        last = looks[-1][0]
        other = _check_same(part.header, last, planner, now)
        past = _planned_again(part, looks, planner)
        if other is not None:
            if not planner.adopt(past):
                raise other
            return f"begins with what {part.header.policy} learned in the run of {part.name}: {other}"
        planner.restore(past.snapshot())
    except (JournalError, _StartAnew) as reason:
        return clip(one_line(f"starts anew: {reason}"))
    except Exception as wrong:
        # Whatever stands in a folder, it is no reason not to begin.
        return f"starts anew: {path} cannot be used: {spell_error(wrong)}"
    gap_s = now.at_s - last.at_s
    return f"goes on from {part.name}: {len(looks)} recorded looks planned again, the last of {gap_s:.0f} s ago"


def last_size(path: Path) -> int | None:
    """How many workers were decided on at the end of what is recorded at `path`; None if nothing is."""
    try:
        for part in reversed(_own_parts(path)):
            if looks := _looks([part]):
                return sum(looks[-1][1].allocation.values())
    except Exception:
        # Why it cannot be read is told when a planner should go on from it.
        return None
    return None


def last_control(path: Path) -> Control | None:
    """What people had asked of the loop at the end of what is recorded at `path`; None if nothing can be told."""
    try:
        for part in reversed(_own_parts(path)):
            if looks := _looks([part]):
                return looks[-1][0].control
    except Exception:
        # As above.
        return None
    return None


def _newest(path: Path) -> list[Part]:
    """The newest file with a look in it, behind those that it takes its memory from."""
    found: list[Part] = []
    for part in reversed(_own_parts(path)):
        if found and (part.header.run != found[0].header.run or _number(part, -1) + 1 != _number(found[0], 0)):
            break
        if not found and not _looks([part]):
            continue
        found.insert(0, part)
        if part.header.memory == "here":
            return found
        if part.header.memory == "lost":
            break
    if not found:
        raise _StartAnew(f"no look was recorded in {path}")
    raise _StartAnew(f"what was remembered before {found[0].name} is not in the journal any more")


def _own_parts(path: Path) -> tuple[Part, ...]:
    """What is recorded at a path, if nobody else has written there."""
    for file in journal_files(path) if path.is_dir() else [path]:
        if file.exists() and (owner := file.lstat().st_uid) != os.getuid():
            raise _StartAnew(f"{file.name} was written by another user, {owner_name(owner)}")
    return read(path).parts


def _number(part: Part, which: int) -> int:
    """The number of the first or the last tick of a file; 0 if it has none."""
    numbers = [tick.number for tick in part.ticks]
    return numbers[which] if numbers else 0


def _looks(parts: Iterable[Part]) -> list[tuple[Observation, Decision]]:
    """What was seen, and what was decided on it."""
    ticks = chain.from_iterable(part.ticks for part in parts)
    return [(tick.observation, tick.decision) for tick in ticks if tick.observation and tick.decision]


def _check_same(header: Header, last: Observation, planner: Planner, now: Observation) -> _OtherRun | None:
    """Raise where nothing that was learned holds; say so where it is another run of the same job."""
    if header.elastream != elastream_version():
        raise _StartAnew(f"the journal is by Elastream {header.elastream}, this is {elastream_version()}")
    other = differs(header, planner)
    if other is not None:
        raise _StartAnew(other)
    if now.queries and fingerprint(last) != fingerprint(now):
        raise _StartAnew("the queries are others, or made of other operators")
    if shape(last) != shape(now):
        raise _StartAnew(f"the workers are others: {_told(shape(now))}, before: {_told(shape(last))}")
    if not now.queries:
        return _OtherRun("no query runs yet")
    elapsed_s = now.at_s - last.at_s
    if elapsed_s < 0 or abs(now.utc_s - last.utc_s - elapsed_s) > _CLOCKS_APART_S:
        return _OtherRun("the clock started again since; times of then and now cannot be compared")
    return None


def _planned_again(part: Part, looks: list[tuple[Observation, Decision]], planner: Planner) -> Planner:
    """A planner that has lived through the file. The one given is left alone until that has worked."""
    past = Planner(planner.policy, planner.guards, planner.known.declared)
    try:
        if part.snapshot is not None:
            past.restore(part.snapshot)
    except Exception as wrong:
        raise _StartAnew(f"the snapshot in {part.name} cannot be used: {spell_error(wrong)}") from wrong
    for now, recorded in looks:
        # A planner that decides otherwise believes in changes that were never made.
        planned = past.plan(now)
        if not alike(planned.decision, recorded):
            raise _StartAnew(f"the look of {now.at_s:.1f} s is decided otherwise today than it was then")
        if planned.troubles:
            raise _StartAnew(f"the look of {now.at_s:.1f} s cannot be planned today: {planned.troubles[0]}")
    return past


def _told(shapes: Mapping[str, Shape]) -> str:
    return ", ".join(
        f"{pool} {one.slots} slots" + ("" if one.memory_bytes is None else f" and {one.memory_bytes / 2**20:.0f} MiB")
        for pool, one in shapes.items()
    )
