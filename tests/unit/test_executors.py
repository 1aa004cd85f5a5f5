"""How executors are brought to a size, on a backend that only pretends."""

import threading
import time
from collections.abc import Callable, Sequence

import pytest

from elastream.core.errors import ApplyFailed
from elastream.loop.clock import VirtualClock
from elastream.spark.executors import Executors, Limits, ShrinkBy, Use
from elastream.spark.roster import Registered


class Pretended:
    """A cluster that obeys, as far as it has room."""

    def __init__(self, size: int, room: int = 100) -> None:
        self.ids = [str(i) for i in range(size)]
        self.leaving: list[str] = []
        self.room = room
        self.requests: list[int] = []
        self.decommissioned: list[list[str]] = []
        self.killed: list[str] = []
        self.fails: Exception | None = None

    def state(self) -> Registered:
        return Registered(tuple(self.ids), tuple(self.leaving))

    def request(self, total: int) -> None:
        if self.fails:
            raise self.fails
        self.requests.append(total)
        while len(self.ids) < min(total, self.room):
            self.ids.append(str(int(max(self.ids, key=int, default="-1")) + 1))

    def decommission(self, ids: Sequence[str]) -> None:
        self.decommissioned.append(list(ids))
        self.leaving.extend(ids)

    def kill(self, name: str) -> None:
        self.killed.append(name)

    def gone(self, *names: str) -> None:
        self.ids = [name for name in self.ids if name not in names]
        self.leaving = [name for name in self.leaving if name not in names]


class Run:
    """Ticks of five seconds; the thread's work is done in place."""

    def __init__(self, backend: Pretended, shrink_by: ShrinkBy = "decommission", **limits: float) -> None:
        self.backend, self.clock = backend, VirtualClock()
        self.clock.sleep_until(100.0)
        self.executors = Executors(backend, self.clock, shrink_by=shrink_by, limits=Limits(**limits))
        self.executors._wake_thread = lambda: None  # type: ignore[method-assign]
        self.executors.look()

    def tick(self, size: int, *, leave_first: Sequence[str] = (), use: Use | None = None, after_s: float = 5.0) -> None:
        self.executors.want(size, leave_first=leave_first, use=use)
        self.executors.reconcile()
        self.clock.sleep_until(self.clock.now_s() + after_s)
        self.executors.look()


def test_before_anything_is_decided_the_size_that_was_found_is_wanted() -> None:
    run = Run(Pretended(3))
    assert (run.executors.wanted, run.executors.requested) == (3, 3)


def test_growing_raises_the_total_once_and_says_how_long_it_took() -> None:
    run = Run(Pretended(2))
    for _ in range(3):
        run.tick(5, use=Use(first_task_s={"2": 108.0}))
    assert run.backend.requests == [5]
    first = run.executors.roster.comings[0]
    assert (first.id, first.asked_s, first.registered_s, first.first_task_s) == ("2", 100.0, 105.0, 108.0)


def test_shrinking_lets_those_go_that_cost_least() -> None:
    run = Run(Pretended(5))
    run.tick(3, use=Use(tasks={"4": 1, "3": 1}))
    assert run.backend.decommissioned == [["2", "1"]]
    assert run.backend.killed == []


def test_those_a_policy_prefers_go_first() -> None:
    run = Run(Pretended(4))
    run.tick(3, leave_first=["0"], use=Use(tasks={"0": 1}))
    assert run.backend.decommissioned == [["0"]]


def test_nothing_is_taken_from_under_work_that_belongs_to_no_query() -> None:
    run = Run(Pretended(3))
    run.tick(1, use=Use(other_tasks={"2": 1, "1": 1}))
    assert run.backend.decommissioned == [["0"]]


def test_who_is_slow_to_leave_comes_on_top_of_the_total_and_others_do_not() -> None:
    run = Run(Pretended(5), leave_s=30.0)
    run.tick(3)
    assert run.backend.requests == [3]
    run.tick(4, after_s=40.0)
    assert run.backend.requests == [3, 4]
    run.tick(4)
    assert run.backend.requests == [3, 4, 6]
    run.backend.gone("4", "3")
    run.tick(4)
    assert run.backend.requests == [3, 4, 6, 4]
    assert [(g.id, g.killed) for g in run.executors.roster.goings] == [("3", False), ("4", False)]


def test_a_lost_executor_is_not_asked_for_again_since_the_total_still_stands() -> None:
    run = Run(Pretended(3))
    run.tick(3)
    run.backend.gone("1")
    run.tick(3)
    assert run.backend.requests == [3]
    assert run.executors.wanted == 3


def test_a_total_that_somebody_else_has_changed_is_asked_for_again_after_a_while() -> None:
    run = Run(Pretended(3), ask_again_s=30.0)
    run.tick(3)
    # A controller that was replaced in the middle of a shrink: its word comes after ours.
    run.backend.gone("2")
    for _ in range(6):
        run.tick(3)
    assert run.backend.requests == [3]
    run.tick(3)
    assert run.backend.requests == [3, 3]
    assert len(run.backend.ids) == 3


def test_who_does_not_leave_is_killed_only_between_batches_and_one_at_a_time() -> None:
    run = Run(Pretended(4), kill_after_s=60.0)
    run.tick(2)
    for use in (Use(), Use(between_batches=True, retrying=True)):
        run.tick(2, use=use, after_s=100.0)
    assert run.backend.killed == []
    run.tick(2, use=Use(between_batches=True))
    assert len(run.backend.killed) == 1
    run.tick(2, use=Use(between_batches=True))
    assert sorted(run.backend.killed) == ["2", "3"]


def test_killing_as_a_choice_ends_one_at_a_time() -> None:
    run = Run(Pretended(4), shrink_by="kill")
    run.tick(2)
    assert run.backend.killed == ["3"]
    assert run.backend.decommissioned == []


def test_a_cluster_without_room_is_reported_and_not_asked_in_a_loop() -> None:
    run = Run(Pretended(2, room=3), room_s=60.0)
    for _ in range(20):
        run.tick(6)
    assert run.backend.requests == [6]
    assert run.executors.room == 3
    assert run.executors.troubles() == ("the cluster has room for 3 executors, 6 are wanted; add workers to it",)
    run.clock.sleep_until(run.clock.now_s() + 400.0)
    assert run.executors.room is None


def test_executors_that_die_at_once_are_not_asked_for_any_more() -> None:
    run = Run(Pretended(1))
    run.tick(2)
    for _ in range(3):
        run.backend.gone(run.backend.ids[-1])
        run.tick(2)
        run.backend.ids.append(str(int(run.backend.ids[-1]) + 10))
        run.tick(2)
    assert any("die soon after their start" in trouble for trouble in run.executors.troubles())
    before = list(run.backend.requests)
    run.tick(8)
    assert run.backend.requests == before


def test_a_failing_request_is_told_and_tried_again() -> None:
    backend = Pretended(2)
    backend.fails = RuntimeError("connection refused\n\tat java.lang.Thread")
    clock = VirtualClock()
    executors = Executors(backend, clock)
    executors.want(4)
    wait_for(lambda: executors._failed is not None)
    with pytest.raises(ApplyFailed, match=r"^changing executors failed: connection refused$"):
        executors.want(4)
    backend.fails = None
    executors.want(4)
    wait_for(lambda: backend.requests == [4])
    executors.stop()


def test_a_cluster_manager_that_does_not_answer_does_not_hold_up_the_loop() -> None:
    class Silent(Pretended):
        def request(self, total: int) -> None:
            released.wait()

    released, clock = threading.Event(), VirtualClock()
    executors = Executors(Silent(2), clock)
    executors.want(4)
    wait_for(lambda: executors._asking_since_s is not None)
    clock.sleep_until(31.0)
    with pytest.raises(ApplyFailed, match="has not answered for 31 s"):
        executors.want(4)
    released.set()
    executors.stop()


def wait_for(holds: Callable[[], bool]) -> None:
    """The thread is another one; it needs a moment."""
    until_s = time.monotonic() + 5.0
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.001)
