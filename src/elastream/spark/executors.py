"""How many executors there are, and how that number is changed while queries run.

Growing raises the total; lowering it takes nobody away, so shrinking names the executors that should go. They are
decommissioned: they finish what they run, hand over their blocks and leave. Killing is for those that do not.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from elastream.core.errors import ApplyFailed
from elastream.core.protocols import Clock
from elastream.spark.roster import Registered, Roster

ShrinkBy = Literal["decommission", "kill"]


class Backend(Protocol):
    """What Spark's scheduler can be asked for."""

    def state(self) -> Registered:
        """Who is there."""

    def request(self, total: int) -> None:
        """Have so many in all."""

    def decommission(self, ids: Sequence[str]) -> None:
        """Let these finish and go."""

    def kill(self, name: str) -> None:
        """End this one at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What executors are doing: it decides who goes first, and when killing is allowed."""

    tasks: Mapping[str, int] = field(default_factory=dict)
    """Running tasks of queries, by executor."""
    other_tasks: Mapping[str, int] = field(default_factory=dict)
    """Running tasks of no query."""
    first_task_s: Mapping[str, float] = field(default_factory=dict)
    """When an executor began its first task."""
    between_batches: bool = False
    retrying: bool = False
    """Whether a stage is in its second attempt: one more loss could end its query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times after which something is wrong."""

    answer_s: float = 30.0
    """A cluster manager that takes longer to answer is told as a trouble."""
    leave_s: float = 30.0
    """A leaving executor usually takes less."""
    kill_after_s: float = 180.0
    """A leaving executor that takes longer is killed, between batches, one at a time."""
    room_s: float = 60.0
    """Executors that have not come by then will not: the cluster has no room."""
    ask_again_s: float = 300.0
    """By then the cluster may have room again, or executors may start again."""


# One executor may die for any reason; three in a row die of their start.
_TOO_MANY_DEATHS = 3


class Executors:
    """Brings the executors to a size. `want` is called on every tick and never blocks: a thread does the asking."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        *,
        shrink_by: ShrinkBy = "decommission",
        expected: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.roster = Roster()
        self._backend = backend
        self._clock = clock
        self._shrink_by = shrink_by
        self._limits = limits or Limits()
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = False
        # Executors of an application that has just begun are on their way: to take those few that are there for all of
        # them would let the rest go.
        self._expected = expected
        self._wanted: int | None = None
        self._leave_first: tuple[str, ...] = ()
        self._use = Use()
        self._requested: int | None = None
        self._total: int | None = None
        self._asked_s = 0.0
        self._grown_s: float | None = None
        self._full_s: float | None = None
        self._asking_since_s: float | None = None
        self._failed: str | None = None

    @property
    def wanted(self) -> int:
        """The size to have; before anything was decided, the size that was found."""
        return self._wanted or 0

    @property
    def requested(self) -> int:
        """What the cluster was asked for, less those on their way out."""
        return self.wanted if self._requested is None else self._requested

    @property
    def room(self) -> int | None:
        """How many the cluster has room for, once it was found to have no more; None if nobody knows."""
        with self._lock:
            if self._full_s is None or self._clock.now_s() - self._full_s > self._limits.ask_again_s:
                return None
            return len(self.roster.since_s) - len(self.roster.told_to_go_s)

    def look(self) -> Registered:
        """Who is there now; also notes who has come and gone since the last look."""
        registered = self._backend.state()
        with self._lock:
            now_s = self._clock.now_s()
            if self._wanted is None:
                self._wanted = max(len(registered.ready), self._expected or 0)
            self.roster.note(registered, now_s, asked_s=self._grown_s)
            self.roster.note_first_tasks(self._use.first_task_s)
            self._note_room(len(registered.ready), now_s)
        return registered

    def want(self, size: int, *, leave_first: Sequence[str] = (), use: Use | None = None) -> None:
        """State the size to have. Raises ApplyFailed if the last attempt failed or has not come back."""
        with self._lock:
            self._wanted, self._leave_first, self._use = size, tuple(leave_first), use or Use()
            since_s, failed, self._failed = self._asking_since_s, self._failed, None
        self._wake_thread()
        waited_s = 0.0 if since_s is None else self._clock.now_s() - since_s
        if waited_s > self._limits.answer_s:
            raise ApplyFailed(f"the cluster manager has not answered for {waited_s:.0f} s; is the master gone?")
        if failed is not None:
            raise ApplyFailed(failed)

    def stop(self) -> None:
        """End the thread; executors stay as they are."""
        self._stopped = True
        self._wake.set()

    def troubles(self) -> tuple[str, ...]:
        """What the user should know beyond a failed change."""
        room, found = self.room, []
        if room is not None and room < self.wanted:
            found.append(f"the cluster has room for {room} executors, {self.wanted} are wanted; add workers to it")
        if self._is_dying():
            found.append("executors die soon after their start, so no more are asked for; see their logs")
        return tuple(found)

    def reconcile(self) -> None:
        """One step towards the wanted size. Blocks while the cluster manager thinks, so the thread calls it."""
        registered = self.look()
        with self._lock:
            wanted, leave_first, use = self.wanted, self._leave_first, self._use
        surplus = len(registered.ready) - wanted
        going = _leavers(registered.ready, surplus, leave_first, use) if surplus > 0 else []
        if going and self._shrink_by == "kill":
            # One at a time: the tasks of each are repeated.
            going = going[:1]
            self._kill(going[0])
        elif going:
            self._backend.decommission(going)
            self.roster.tell_to_go(going, self._clock.now_s())
        self._request(wanted, wanted + self._stuck(registered.leaving))
        self._hurry(registered, use)

    def _stuck(self, leaving: Sequence[str]) -> int:
        """How many come on top of the total because they should be gone and are not.

        A standalone master counts those on their way out until they are gone. Were all of them added, it would start
        another executor for each that goes, before the total could be lowered.
        """
        before_s = self._clock.now_s() - self._limits.leave_s
        return sum(self.roster.told_to_go_s.get(name, before_s) < before_s for name in leaving)

    def _request(self, wanted: int, total: int) -> None:
        """Ask for the total where it is not what was asked for already: a full cluster is not asked in a loop.

        It is asked again after a while, for others may have asked for another total since: a controller that was
        replaced in the middle of a change, or the user.
        """
        now_s = self._clock.now_s()
        grows = wanted > self.requested if self._requested is not None else total > len(self.roster.since_s)
        lacks = len(self.roster.since_s) < total and now_s - self._asked_s > self._limits.ask_again_s
        if (total == self._total and not lacks) or (grows and self._is_dying()):
            return
        self._backend.request(total)
        with self._lock:
            if grows:
                self._grown_s, self._full_s = now_s, None
            self._requested, self._total, self._asked_s = wanted, total, now_s

    def _hurry(self, registered: Registered, use: Use) -> None:
        """Kill one executor that should have left long ago, when nothing can come of it."""
        before_s = self._clock.now_s() - self._limits.kill_after_s
        told_s = self.roster.told_to_go_s
        late = [name for name in registered.leaving if told_s.get(name, before_s) < before_s]
        late = [name for name in late if name not in self.roster.killed and not use.other_tasks.get(name)]
        if late and use.between_batches and not use.retrying:
            self._kill(late[0])

    def _kill(self, name: str) -> None:
        self._backend.kill(name)
        self.roster.tell_to_go([name], self._clock.now_s())
        self.roster.killed.add(name)

    def _note_room(self, ready: int, now_s: float) -> None:
        if ready >= self.requested:
            self._full_s = None
            return
        waited_s = now_s - max(self._grown_s or now_s, self.roster.last_arrival_s())
        if self._full_s is None and waited_s > self._limits.room_s:
            self._full_s = now_s

    def _is_dying(self) -> bool:
        return self.roster.died_young(self._clock.now_s() - self._limits.ask_again_s) >= _TOO_MANY_DEATHS

    def _wake_thread(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="elastream-executors", daemon=True)
            self._thread.start()
        self._wake.set()

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                self._asking_since_s = self._clock.now_s()
            failed: str | None = None
            try:
                if not self._stopped:
                    self.reconcile()
            except Exception as error:
                failed = f"changing executors failed: {_first_line(error)}"
            with self._lock:
                self._asking_since_s, self._failed = None, failed


def _leavers(ready: Sequence[str], surplus: int, leave_first: Sequence[str], use: Use) -> list[str]:
    """Those a policy prefers, then those that cost least: fewest running tasks, then the youngest.

    Whoever runs tasks of no query stays: that work was never ours to move.
    """
    rank = {name: i for i, name in enumerate(leave_first)}

    def cost(name: str) -> tuple[int, int, int]:
        age = int(name) if name.isdecimal() else 0
        return rank.get(name, len(rank)), use.tasks.get(name, 0), -age

    return sorted((name for name in ready if not use.other_tasks.get(name)), key=cost)[:surplus]


def _first_line(error: Exception) -> str:
    """What happened, without the stack trace that py4j appends."""
    cause = getattr(error, "java_exception", None)
    text = str(cause.toString() if cause is not None else error).strip()
    return text.splitlines()[0] if text else type(error).__name__
