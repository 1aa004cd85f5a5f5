"""Who has come and who has gone, how long it took to come, and how many there is room for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple


class Registered(NamedTuple):
    """Executors the driver knows, and those among them that are leaving."""

    ids: tuple[str, ...]
    leaving: tuple[str, ...] = ()

    @property
    def ready(self) -> tuple[str, ...]:
        """Those that take tasks."""
        leaving = set(self.leaving)
        return tuple(name for name in self.ids if name not in leaving)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """How long an executor took to be of use."""

    id: str
    asked_s: float
    """When it was asked for, or when the one left whose place it took."""
    registered_s: float
    first_task_s: float | None = None


class Told(NamedTuple):
    """Who was asked to leave, and when."""

    at_s: Mapping[str, float]
    killed: frozenset[str]


_KEPT = 64
_SHORT_LIFE_S = 60.0


class Roster:
    """Notes on executors, from one look to the next."""

    def __init__(self) -> None:
        self.comings: list[Coming] = []
        self.since_s: dict[str, float] = {}
        self.told_to_go_s: dict[str, float] = {}
        self.killed: set[str] = set()
        self.arrived_s: float | None = None
        """When somebody came last."""
        self.left_s: float | None = None
        """When somebody left last, told to or not."""
        self._busy_s: dict[str, float] = {}
        self._short_lives: list[float] = []

    def note(self, registered: Registered, now_s: float, *, asked_s: float | None, measures: bool = True) -> None:
        """One look. `asked_s` is when more executors were asked for last.

        A cluster manager replaces one that died without being asked, so that its successor is counted from that loss.
        `measures` is whether the time it took says how long executors take: those that had to wait for room do not.
        """
        here = set(registered.ids)
        gone = [name for name in self.since_s if name not in here]
        for name in gone:
            self._note_gone(name, now_s)
        # Who was gone before it could be told.
        self.told_to_go_s = {name: told_s for name, told_s in self.told_to_go_s.items() if name in self.since_s}
        came = [name for name in registered.ids if name not in self.since_s]
        for name in came:
            self.since_s[name] = self.arrived_s = now_s
        begun_s = max((at_s for at_s in (asked_s, self.left_s) if at_s is not None), default=None)
        # Who left and who came between the same two looks: nobody knows how long that took.
        if measures and begun_s is not None and not gone:
            self.comings += [Coming(id=name, asked_s=begun_s, registered_s=now_s) for name in came]
            del self.comings[:-_KEPT]

    def note_first_tasks(self, began_s: Mapping[str, float]) -> None:
        """When executors began their first task."""
        self.comings = [
            replace(coming, first_task_s=began_s[coming.id])
            if coming.first_task_s is None and coming.id in began_s
            else coming
            for coming in self.comings
        ]

    def note_tasks(self, running: Iterable[str], now_s: float) -> None:
        """These run tasks: whoever of them is on its way out is at work, and not stuck."""
        self._busy_s.update((name, now_s) for name in running if name in self.told_to_go_s)

    def tell_to_go(self, names: Iterable[str], now_s: float, *, killed: bool = False) -> Told:
        """These are asked to leave. Returns what was noted before, for `take_back`."""
        before = Told(dict(self.told_to_go_s), frozenset(self.killed))
        for name in names:
            self.told_to_go_s.setdefault(name, now_s)
            if killed:
                self.killed.add(name)
        return before

    def take_back(self, before: Told) -> None:
        """They could not be asked after all."""
        self.told_to_go_s, self.killed = dict(before.at_s), set(before.killed)

    def idle_since_s(self, name: str) -> float | None:
        """Since when one that was told to go has done nothing; None if we have not told it."""
        told_s = self.told_to_go_s.get(name)
        return None if told_s is None else max(told_s, self._busy_s.get(name, told_s))

    def slowest_start_s(self) -> float | None:
        """The longest that an executor took to come; None if nobody was seen coming."""
        return max((coming.registered_s - coming.asked_s for coming in self.comings), default=None)

    def died_young(self, since_s: float) -> int:
        """How many died soon after their start, without being told to."""
        return sum(at_s >= since_s for at_s in self._short_lives)

    def _note_gone(self, name: str, now_s: float) -> None:
        came_s, told_s = self.since_s.pop(name), self.told_to_go_s.pop(name, None)
        self.left_s = now_s
        if told_s is None and now_s - came_s < _SHORT_LIFE_S:
            self._short_lives.append(now_s)
            del self._short_lives[:-_KEPT]
        self.killed.discard(name)
        self._busy_s.pop(name, None)


class Room:
    """How many executors the cluster has room for, found out by those that do not come, for as long as it holds.

    No cluster manager says so. An executor that died says nothing about room: its successor is on its way. Only when
    something that was asked for has not come in the time that executors usually take is there no room for it.
    """

    def __init__(self, *, forget_after_s: float) -> None:
        self._forget_after_s = forget_after_s
        self._found: int | None = None
        self._found_s = 0.0

    def get(self, now_s: float) -> int | None:
        """How many there is room for; None if nobody knows, which is so again after a while."""
        return None if now_s - self._found_s > self._forget_after_s else self._found

    def note(self, there: int, *, lacks: bool, is_late: bool, now_s: float) -> None:
        """One look. `there` are all that take up room: ready, starting and leaving.

        `is_late` is whether those that are lacking should have come by now. What was found stays when fewer are asked
        for, or more would be asked for again as soon as it was heeded.
        """
        if self._found is not None and (there > self._found or self.get(now_s) is None):
            self._found = None
        if lacks and is_late and there != self._found:
            self._found, self._found_s = there, now_s
