"""Who has come and who has gone, and how long each took."""

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
        return tuple(name for name in self.ids if name not in self.leaving)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """How long an executor took to be of use."""

    id: str
    asked_s: float
    registered_s: float
    first_task_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """How long an executor took to leave."""

    id: str
    asked_s: float
    gone_s: float
    killed: bool


_KEPT = 64


class Roster:
    """Notes on executors, from one look to the next."""

    def __init__(self, *, short_life_s: float = 60.0) -> None:
        self.comings: list[Coming] = []
        self.goings: list[Going] = []
        self.since_s: dict[str, float] = {}
        self.told_to_go_s: dict[str, float] = {}
        self.killed: set[str] = set()
        self._short_life_s = short_life_s
        self._short_lives: list[float] = []

    def note(self, registered: Registered, now_s: float, *, asked_s: float | None) -> None:
        """One look. `asked_s` is when more executors were asked for last."""
        for name in registered.ids:
            if name not in self.since_s:
                self.since_s[name] = now_s
                if asked_s is not None:
                    self._keep(Coming(id=name, asked_s=asked_s, registered_s=now_s))
        for name in [name for name in self.since_s if name not in registered.ids]:
            self._note_gone(name, now_s)

    def note_first_tasks(self, began_s: Mapping[str, float]) -> None:
        """When executors began their first task."""
        self.comings = [
            replace(coming, first_task_s=began_s[coming.id])
            if coming.first_task_s is None and coming.id in began_s
            else coming
            for coming in self.comings
        ]

    def tell_to_go(self, names: Iterable[str], now_s: float) -> None:
        """These were asked to leave."""
        for name in names:
            self.told_to_go_s.setdefault(name, now_s)

    def last_arrival_s(self) -> float:
        """When somebody came last."""
        return max(self.since_s.values(), default=0.0)

    def died_young(self, since_s: float) -> int:
        """How many died soon after their start, without being told to."""
        return sum(at_s >= since_s for at_s in self._short_lives)

    def _note_gone(self, name: str, now_s: float) -> None:
        came_s, told_s = self.since_s.pop(name), self.told_to_go_s.pop(name, None)
        if told_s is not None:
            self.goings.append(Going(id=name, asked_s=told_s, gone_s=now_s, killed=name in self.killed))
            del self.goings[:-_KEPT]
        elif now_s - came_s < self._short_life_s:
            self._short_lives.append(now_s)
            del self._short_lives[:-_KEPT]
        self.killed.discard(name)

    def _keep(self, coming: Coming) -> None:
        self.comings.append(coming)
        del self.comings[:-_KEPT]
