"""How many executors there are, and how that number is changed while queries run.

Growing raises the total; lowering it takes nobody away, so shrinking names the executors that should go. They are
decommissioned: they finish what they run, hand over their blocks and leave. Killing is for those that do not.

A cluster manager counts those on their way out until they are gone, and starts another for each that goes while fewer
than the total are left. So the lasting total is what is wanted and never includes them; it is raised by them only to
start what is missing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from elastream.core.errors import ApplyFailed
from elastream.core.protocols import Clock
from elastream.spark.scale.managers import Manager
from elastream.spark.scale.roster import Registered, Room, Roster

ShrinkBy = Literal["decommission", "kill"]


class Backend(Protocol):
    """What Spark's scheduler can be asked for."""

    @property
    def manager(self) -> Manager:
        """Who gives executors."""

    def state(self) -> Registered:
        """Who is there."""

    def request(self, total: int) -> None:
        """Have so many in all."""

    def decommission(self, ids: Sequence[str]) -> None:
        """Let these finish and go."""

    def kill(self, name: str) -> None:
        """End this one at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorUse:
    """What executors are doing: it decides who goes first, and when killing is allowed."""

    tasks: Mapping[str, int] = field(default_factory=dict)
    """Running tasks of queries, by executor."""
    other_tasks: Mapping[str, int] = field(default_factory=dict)
    """Running tasks of no query."""
    first_task_s: Mapping[str, float] = field(default_factory=dict)
    """When an executor began its first task."""
    starting: tuple[str, ...] = ()
    """Executors whose process was seen and that were not registered yet."""
    between_batches: bool = False
    retrying: bool = False
    """Whether a stage is in its second attempt: one more loss could end its query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleLimits:
    """Times after which something is wrong."""

    answer_s: float = 30.0
    """A cluster manager that takes longer to answer is told as a trouble."""
    kill_after_s: float = 180.0
    """A leaving executor that has done nothing for longer is killed, between batches, one at a time."""
    room_s: float = 60.0
    """Executors that have not come by then will not, while nobody has been seen coming: the cluster has no room."""
    room_least_s: float = 30.0
    """The same where they have been seen coming in no time: on a busy machine they take longer."""
    ask_again_s: float = 300.0
    """By then the cluster may have room again, or executors may start again."""


# One executor may die for any reason; three in a row die of their start.
_TOO_MANY_DEATHS = 3
# Executors that start together, or beside a heavy batch, take up to three times as long as one alone.
_SLOWER_THAN_USUAL = 3.0


class Executors:
    """Brings the executors to a size. `want` is called on every tick and never blocks: a thread does the asking."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        *,
        shrink_by: ShrinkBy = "decommission",
        expected: int | None = None,
        initial: int | None = None,
        limits: ScaleLimits | None = None,
    ) -> None:
        self.roster = Roster()
        self._backend = backend
        self._clock = clock
        self._shrink_by = shrink_by
        self._limits = limits or ScaleLimits()
        # Two threads look. To ask and to note is one act, or the older of two answers might be noted last.
        self._looking = threading.Lock()
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = False
        # Executors of an application that has just begun are on their way: to take those few that are there for all of
        # them would let the rest go.
        self._expected = expected
        # Whoever names a size to begin with means it, whatever the cluster gave.
        self._initial = initial
        self._wanted: int | None = None
        self._leave_first: tuple[str, ...] = ()
        self._use = ExecutorUse()
        self._requested: int | None = None
        self._total: int | None = None
        self._asked_s = 0.0
        self._asked_more_s: float | None = None
        self._first_look_s: float | None = None
        self._room = Room(forget_after_s=self._limits.ask_again_s)
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
        # With none at all, nobody knows: to want none would be no remedy.
        return self._room.get(self._clock.now_s()) or None

    def look(self) -> Registered:
        """Who is there now; also notes who has come and gone since the last look."""
        with self._looking:
            registered = self._backend.state()
            with self._lock:
                self._note(registered, self._clock.now_s())
        return registered

    def want(self, size: int, *, leave_first: Sequence[str] = (), use: ExecutorUse | None = None) -> None:
        """State the size to have. Raises ApplyFailed if the last attempt failed or has not come back."""
        with self._lock:
            self._wanted, self._leave_first, self._use = size, tuple(leave_first), use or ExecutorUse()
            self.roster.note_tasks((name for name, tasks in self._use.tasks.items() if tasks), self._clock.now_s())
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
        room, found = self._room.get(self._clock.now_s()), []
        if room == 0:
            found.append(f"no executor has come, {self.wanted} are wanted; see the cluster manager")
        elif room is not None and room < self.wanted:
            remedy = self._backend.manager.remedy
            found.append(f"the cluster has room for {room} executors, {self.wanted} are wanted; {remedy}")
        if self._is_dying():
            found.append("executors die soon after their start, so no more are asked for; see their logs")
        return tuple(found)

    def reconcile(self) -> None:
        """One step towards the wanted size. Blocks while the cluster manager thinks, so the thread calls it."""
        registered = self.look()
        with self._lock:
            wanted, leave_first, use = self.wanted, self._leave_first, self._use
        # Before anybody is told to go: whoever goes while the total is higher is replaced.
        self._request(wanted, registered)
        surplus = len(registered.ready) - wanted
        going = _leavers(registered.ready, surplus, leave_first, use) if surplus > 0 else []
        if going and self._shrink_by == "kill":
            # One at a time: the tasks of each are repeated.
            self._kill(going[0])
        elif going:
            self._tell_to_go(going, lambda: self._backend.decommission(going))
        self._hurry(registered, use)

    def _request(self, wanted: int, registered: Registered) -> None:
        """Ask for the total where it is not what was asked for already: a full cluster is not asked in a loop.

        It is asked again after a while, for others may have asked for another total since: a controller that was
        replaced in the middle of a change, or the user.
        """
        now_s, dying = self._clock.now_s(), self._is_dying()
        lacks = len(registered.ready) < wanted
        grows = lacks if self._requested is None else wanted > self._requested
        if grows and dying:
            return
        again = lacks and now_s - self._asked_s > self._limits.ask_again_s
        manager = self._backend.manager
        leaving = self._leaving(registered) if lacks and not dying and manager.counts_leaving else 0
        # The total that starts what is missing, then the one that stays. Between the two, who leaves would be replaced.
        totals = [wanted + leaving]
        if leaving and manager.starts_at_once:
            totals.append(wanted)
        elif totals[0] == self._total and not again:
            return
        self._total = None
        for total in totals:
            self._backend.request(total)
        with self._lock:
            if grows or again:
                self._asked_more_s = now_s
            self._requested, self._total, self._asked_s = wanted, totals[-1], now_s

    def _leaving(self, registered: Registered) -> int:
        """How many of those on their way out the cluster manager counts: whom we have told to go, and not killed.

        It has counted out whom it let go itself, and replaced whom it has lost.
        """
        with self._lock:
            told = self.roster.told_to_go_s.keys() - self.roster.killed
        return sum(name in told for name in registered.leaving)

    def _hurry(self, registered: Registered, use: ExecutorUse) -> None:
        """Kill one executor that should have left long ago, when nothing can come of it.

        One that runs tasks is at work, however long they take; one that has none may still be moving blocks.
        """
        before_s = self._clock.now_s() - self._limits.kill_after_s
        with self._lock:
            idle_s = {name: self.roster.idle_since_s(name) for name in registered.leaving}
            late = [name for name, since_s in idle_s.items() if since_s is not None and since_s < before_s]
            late = [name for name in late if name not in self.roster.killed and not use.other_tasks.get(name)]
        if late and use.between_batches and not use.retrying:
            self._kill(late[0])

    def _kill(self, name: str) -> None:
        self._tell_to_go([name], lambda: self._backend.kill(name), killed=True)

    def _tell_to_go(self, names: Sequence[str], tell: Callable[[], None], *, killed: bool = False) -> None:
        """Noted before they are told: one that is gone before the answer comes has not died."""
        with self._lock:
            before = self.roster.tell_to_go(names, self._clock.now_s(), killed=killed)
        try:
            tell()
        except BaseException:
            with self._lock:
                self.roster.take_back(before)
            raise

    def _note(self, registered: Registered, now_s: float) -> None:
        if self._first_look_s is None:
            self._first_look_s = now_s
        if self._wanted is None:
            given = max(len(registered.ready), self._expected or 0)
            self._wanted = given if self._initial is None else self._initial
        self.roster.note(registered, now_s, asked_s=self._asked_more_s, measures=self._room.get(now_s) is None)
        self.roster.note_first_tasks(self._use.first_task_s)
        self._note_room(registered, now_s)

    def _note_room(self, registered: Registered, now_s: float) -> None:
        """Counted from the asking, or from whoever came or left last: what comes or leaves may bring another."""
        moments = (self._first_look_s, self._asked_more_s, self.roster.arrived_s, self.roster.left_s)
        slowest_s, limits = self.roster.slowest_start_s(), self._limits
        usual_s = limits.room_s if slowest_s is None else max(limits.room_least_s, _SLOWER_THAN_USUAL * slowest_s)
        starting = set(self._use.starting) - set(registered.ids)
        self._room.note(
            len(registered.ids) + len(starting),
            lacks=len(registered.ready) + len(starting) < self.requested,
            is_late=now_s - max(at_s for at_s in moments if at_s is not None) > usual_s,
            now_s=now_s,
        )

    def _is_dying(self) -> bool:
        with self._lock:
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


def _leavers(ready: Sequence[str], surplus: int, leave_first: Sequence[str], use: ExecutorUse) -> list[str]:
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
