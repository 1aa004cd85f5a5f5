"""How executors are brought to a size, on backends that only pretend."""

import threading
import time
from collections.abc import Callable, Sequence

import pytest

from elastream.core.errors import ApplyFailed
from elastream.loop.clock import VirtualClock
from elastream.spark.scale.executors import Executors, ExecutorUse, ScaleLimits, ShrinkBy
from elastream.spark.scale.managers import Manager, Standalone, Yarn
from elastream.spark.scale.roster import Registered


class Pretended:
    """A cluster that obeys, as far as it has room, and replaces nobody."""

    manager: Manager = Standalone()

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


class Master(Pretended):
    """Counts those on their way out until they are gone, and has as many as the last total says, as a real one does.

    Executors take a while to register.
    """

    def __init__(self, size: int, room: int = 100) -> None:
        super().__init__(size, room)
        self.total, self.started = size, size
        self.starting: list[str] = []

    def request(self, total: int) -> None:
        if self.fails:
            raise self.fails
        self.requests.append(total)
        self.total = total
        self.schedule()

    def schedule(self) -> None:
        while len(self.ids) + len(self.starting) < min(self.total, self.room):
            self.starting.append(str(self.started))
            self.started += 1

    def register(self) -> None:
        self.ids, self.starting = self.ids + self.starting, []

    def gone(self, *names: str) -> None:
        super().gone(*names)
        self.schedule()


class Run:
    """Ticks of five seconds; the thread's work is done in place."""

    def __init__(self, backend: Pretended, shrink_by: ShrinkBy = "decommission", **limits: float) -> None:
        self.backend, self.clock = backend, VirtualClock()
        self.clock.sleep_until(100.0)
        self.executors = Executors(backend, self.clock, shrink_by=shrink_by, limits=ScaleLimits(**limits))
        self.executors._wake_thread = lambda: None  # type: ignore[method-assign]
        self.executors.look()

    def tick(
        self, size: int, *, leave_first: Sequence[str] = (), use: ExecutorUse | None = None, after_s: float = 5.0
    ) -> None:
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
        run.tick(5, use=ExecutorUse(first_task_s={"2": 108.0}))
    assert run.backend.requests == [5]
    first = run.executors.roster.comings[0]
    assert (first.id, first.asked_s, first.registered_s, first.first_task_s) == ("2", 100.0, 105.0, 108.0)


def test_shrinking_lets_those_go_that_cost_least() -> None:
    run = Run(Pretended(5))
    run.tick(3, use=ExecutorUse(tasks={"4": 1, "3": 1}))
    assert run.backend.decommissioned == [["2", "1"]]
    assert run.backend.killed == []


def test_those_a_policy_prefers_go_first() -> None:
    run = Run(Pretended(4))
    run.tick(3, leave_first=["0"], use=ExecutorUse(tasks={"0": 1}))
    assert run.backend.decommissioned == [["0"]]


def test_nothing_is_taken_from_under_work_that_belongs_to_no_query() -> None:
    run = Run(Pretended(3))
    run.tick(1, use=ExecutorUse(other_tasks={"2": 1, "1": 1}))
    assert run.backend.decommissioned == [["0"]]


def test_who_leaves_after_a_long_task_is_not_replaced() -> None:
    master = Master(5)
    run = Run(master)
    for _ in range(40):
        run.tick(3, use=ExecutorUse(tasks={"4": 1, "3": 1}))
    assert master.requests == [3]
    for name in master.decommissioned[0]:
        master.gone(name)
        run.tick(3)
    assert (len(master.ids), master.starting, master.started) == (3, [], 5)
    assert (run.executors.roster.told_to_go_s, run.executors.roster.died_young(0.0), master.killed) == ({}, 0, [])


def test_growing_does_not_wait_for_those_that_leave_and_nobody_replaces_them() -> None:
    master = Master(3)
    run = Run(master)
    run.tick(1)
    assert len(master.leaving) == 2
    run.tick(3)
    assert len(master.starting) == 2
    for _ in range(3):
        # While they start, and again and again.
        run.tick(3)
    assert (len(master.starting), master.total) == (2, 3)
    master.register()
    for name in tuple(master.leaving):
        master.gone(name)
        run.tick(3)
    assert (len(master.ids), master.starting, master.started) == (3, [], 5)


def test_what_had_no_room_beside_those_that_leave_comes_as_they_go() -> None:
    master = Master(4, room=5)
    run = Run(master)
    run.tick(2)
    run.tick(4)
    assert len(master.starting) == 1
    while master.leaving:
        master.gone(master.leaving[0])
        run.tick(4)
    assert len(master.ids) + len(master.starting) == 4


def test_one_that_dies_while_others_leave_is_replaced() -> None:
    master = Master(4)
    run = Run(master)
    run.tick(2)
    master.gone("0")
    assert master.starting == []
    run.tick(2)
    assert len(master.starting) == 1


def test_those_that_others_let_go_are_not_counted_a_second_time() -> None:
    master = Master(3)
    run = Run(master)
    # A worker that leaves takes its executors off the master's count.
    master.leaving.append("2")
    run.tick(3)
    assert master.requests == [3]


def test_whom_we_have_killed_the_master_has_counted_out_and_nobody_more_is_started() -> None:
    class Counting(Master):
        """Counts out who is killed at once, though it is registered for a moment longer."""

        def schedule(self) -> None:
            counted = [name for name in self.ids if name not in self.killed]
            while len(counted) + len(self.starting) < self.total:
                self.starting.append(str(self.started))
                self.started += 1

    master = Counting(3)
    run = Run(master, kill_after_s=20.0)
    for _ in range(6):
        run.tick(2, use=ExecutorUse(between_batches=True))
    assert master.killed == master.leaving == ["2"]
    run.tick(3)
    master.register()
    master.gone("2")
    run.tick(3)
    assert (len(master.ids), master.starting, master.started) == (3, [], 4)


def test_one_too_many_is_let_go_and_the_total_stays() -> None:
    master = Master(2)
    run = Run(master)
    run.tick(2)
    master.ids.append("7")
    run.tick(2)
    assert master.decommissioned == [["7"]]
    assert (master.requests, master.total) == ([2], 2)
    master.gone("7")
    for _ in range(5):
        run.tick(2)
    assert (master.ids, master.starting, master.requests) == (["0", "1"], [], [2])


def test_a_cluster_that_starts_executors_when_it_gets_to_it_keeps_the_higher_total_until_they_are_there() -> None:
    class Slow(Master):
        manager = Yarn()

    master = Slow(3)
    run = Run(master)
    run.tick(1)
    run.tick(3)
    run.tick(3)
    assert master.requests == [1, 5]
    master.register()
    run.tick(3)
    assert master.requests == [1, 5, 3]


def test_a_total_that_could_not_be_lowered_again_is_lowered_later() -> None:
    class Failing(Master):
        def request(self, total: int) -> None:
            super().request(total)
            if self.requests == [1, 5]:
                self.fails = RuntimeError("the master has gone")

    master = Failing(3)
    run = Run(master)
    run.tick(1)
    with pytest.raises(RuntimeError):
        run.tick(3)
    master.fails = None
    master.register()
    run.tick(3)
    assert master.total == 3


def test_the_total_is_lowered_before_anybody_is_told_to_go() -> None:
    told: list[str] = []

    class Telling(Pretended):
        def request(self, total: int) -> None:
            told.append(f"total {total}")

        def decommission(self, ids: Sequence[str]) -> None:
            told.append("go")

    Run(Telling(3)).tick(2)
    assert told == ["total 2", "go"]


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
    for use in (ExecutorUse(), ExecutorUse(between_batches=True, retrying=True)):
        run.tick(2, use=use, after_s=100.0)
    assert run.backend.killed == []
    run.tick(2, use=ExecutorUse(between_batches=True))
    assert len(run.backend.killed) == 1
    run.tick(2, use=ExecutorUse(between_batches=True))
    assert sorted(run.backend.killed) == ["2", "3"]


@pytest.mark.parametrize(
    "use", [ExecutorUse(), ExecutorUse(between_batches=True, retrying=True)], ids=["in a batch", "in a retry"]
)
def test_one_that_should_have_left_long_ago_costs_no_batch_its_tasks(use: ExecutorUse) -> None:
    run = Run(Pretended(4), kill_after_s=60.0)
    run.tick(2, after_s=100.0)
    for _ in range(3):
        run.tick(2, use=use)
    assert run.backend.killed == []
    run.tick(2, use=ExecutorUse(between_batches=True))
    assert len(run.backend.killed) == 1


def test_killing_as_a_choice_ends_one_at_a_time() -> None:
    run = Run(Pretended(4), shrink_by="kill")
    run.tick(2)
    assert run.backend.killed == ["3"]
    assert run.backend.decommissioned == []


def test_who_runs_tasks_is_not_stuck_and_has_time_to_move_its_blocks_after_them() -> None:
    run = Run(Pretended(2), kill_after_s=60.0)
    run.tick(1)
    for _ in range(20):
        run.tick(1, use=ExecutorUse(tasks={"1": 1}))
    for _ in range(12):
        run.tick(1, use=ExecutorUse(between_batches=True))
    assert run.backend.killed == []
    run.tick(1, use=ExecutorUse(between_batches=True))
    assert run.backend.killed == ["1"]


def test_one_that_could_not_be_killed_is_killed_later() -> None:
    class Refusing(Pretended):
        def kill(self, name: str) -> None:
            super().kill(name)
            if len(self.killed) == 1:
                raise RuntimeError("refused")

    run = Run(Refusing(2), shrink_by="kill")
    with pytest.raises(RuntimeError):
        run.tick(1)
    assert run.executors.roster.told_to_go_s == {}
    run.tick(1)
    assert run.backend.killed == ["1", "1"]


def test_a_cluster_without_room_is_reported_and_not_asked_in_a_loop() -> None:
    run = Run(Pretended(2, room=3), room_s=60.0)
    for _ in range(20):
        run.tick(6)
    assert run.backend.requests == [6]
    assert run.executors.room == 3
    assert run.executors.troubles() == ("the cluster has room for 3 executors, 6 are wanted; add workers to it",)
    run.clock.sleep_until(run.clock.now_s() + 400.0)
    assert run.executors.room is None


def test_room_that_was_found_holds_while_it_is_heeded_and_is_asked_for_again_later() -> None:
    run, asked = Run(Pretended(2, room=3), ask_again_s=300.0), []
    for _ in range(200):
        # As the guard does it.
        run.tick(min(6, run.executors.room or 6))
        asked.append(run.executors.wanted)
    assert run.backend.requests == [6, 3, 6, 3, 6, 3]
    assert asked.count(6) < 60


def test_a_death_is_not_taken_for_lack_of_room() -> None:
    master = Master(3)
    run = Run(master)
    for _ in range(40):
        run.tick(3)
    master.gone("1")
    for _ in range(5):
        run.tick(3)
        assert run.executors.room is None
    master.register()
    for _ in range(40):
        run.tick(3)
        assert run.executors.room is None
    assert (master.requests, run.executors.troubles()) == ([3], ())
    assert [(c.id, c.registered_s - c.asked_s) for c in run.executors.roster.comings] == [("3", 25.0)]


def test_a_death_in_a_full_cluster_does_not_make_it_smaller() -> None:
    run = Run(Pretended(2, room=3))
    for _ in range(20):
        run.tick(6)
    assert run.executors.room == 3
    run.backend.gone("1")
    run.tick(6)
    assert run.executors.room == 3


def test_one_that_died_and_does_not_come_again_leaves_less_room() -> None:
    run = Run(Pretended(3), room_s=60.0)
    run.tick(3)
    run.backend.gone("1")
    for _ in range(12):
        run.tick(3)
        assert run.executors.room is None
    run.tick(3)
    assert run.executors.room == 2


def test_the_time_executors_have_taken_decides_when_they_are_late() -> None:
    master = Master(1, room=2)
    run = Run(master, room_s=60.0)
    for _ in range(9):
        run.tick(2)
    master.register()
    run.tick(2)
    assert run.executors.roster.slowest_start_s() == 45.0
    for _ in range(26):
        run.tick(3)
        assert run.executors.room is None
    for _ in range(3):
        run.tick(3)
    assert run.executors.room == 2


def test_one_that_came_while_another_left_does_not_say_how_long_executors_take() -> None:
    master = Master(2)
    run = Run(master)
    for _ in range(3):
        run.tick(3)
    master.gone("0")
    master.register()
    run.tick(3)
    # Counted from that loss they would have taken no time, and the next ones would be late at once.
    assert run.executors.roster.slowest_start_s() is None


def test_a_cluster_that_has_got_more_room_is_not_taken_for_a_small_one() -> None:
    run = Run(Pretended(2, room=3), room_s=60.0)
    for _ in range(20):
        run.tick(6)
    assert run.executors.room == 3
    run.backend.ids += ["10", "11"]
    run.tick(6)
    assert run.executors.room is None


def test_those_that_start_or_leave_take_up_room() -> None:
    for wanted, room in ((2, None), (3, 2)):
        run = Run(Pretended(0, room=0), room_s=60.0)
        for _ in range(14):
            run.tick(wanted, use=ExecutorUse(starting=("0", "1")))
        assert run.executors.room == room
    run = Run(Pretended(4, room=4), room_s=60.0)
    run.tick(2)
    for _ in range(14):
        run.tick(6)
    assert run.executors.room == 4


def test_a_cluster_is_not_taken_for_smaller_because_some_are_on_their_way_out() -> None:
    run = Run(Pretended(4, room=4), room_s=60.0)
    run.tick(2)
    for _ in range(14):
        run.tick(6)
    run.backend.gone(*run.backend.leaving)
    run.tick(6)
    # With room for two, as many as were ready meanwhile, nobody would come in the place of those that went.
    assert run.executors.room == 4
    assert run.executors.troubles() == ("the cluster has room for 4 executors, 6 are wanted; add workers to it",)


def test_that_nobody_comes_at_all_is_told_and_no_reason_to_want_nobody() -> None:
    run = Run(Pretended(0, room=0), room_s=60.0)
    for _ in range(14):
        run.tick(2)
    assert run.executors.room is None
    assert run.executors.troubles() == ("no executor has come, 2 are wanted; see the cluster manager",)


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


def test_after_a_while_executors_that_died_at_once_are_asked_for_again() -> None:
    run = Run(Pretended(1), ask_again_s=300.0)
    run.tick(2)
    for _ in range(3):
        run.backend.gone(run.backend.ids[-1])
        run.tick(2)
        run.backend.ids.append(str(int(run.backend.ids[-1]) + 10))
        run.tick(2)
    run.tick(8, after_s=301.0)
    assert 8 not in run.backend.requests
    run.tick(8)
    assert run.backend.requests[-1] == 8
    assert run.executors.troubles() == ()


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


def test_of_two_that_look_the_older_answer_is_not_noted_last() -> None:
    class Answering(Pretended):
        """Its first answer takes a while to arrive."""

        def state(self) -> Registered:
            answer = super().state()
            if threading.current_thread() is slow:
                asked.set()
                released.wait(1.0)
            return answer

    asked, released, backend = threading.Event(), threading.Event(), Answering(2)
    slow = threading.Thread(target=lambda: executors.look())
    executors = Executors(backend, VirtualClock())
    executors.look()
    slow.start()
    asked.wait()
    backend.ids.append("2")
    other = threading.Thread(target=executors.look)
    other.start()
    # Time enough to overtake for one that could.
    other.join(0.1)
    released.set()
    slow.join()
    other.join()
    assert sorted(executors.roster.since_s) == ["0", "1", "2"]
    assert executors.roster.died_young(0.0) == 0


def test_one_that_is_gone_before_its_order_to_go_is_answered_has_not_died() -> None:
    class Quick(Pretended):
        def kill(self, name: str) -> None:
            self.gone(name)
            run.executors.look()

    run = Run(Quick(2), shrink_by="kill")
    run.tick(1)
    assert run.executors.roster.died_young(0.0) == 0
    assert run.executors.roster.told_to_go_s == {}


def wait_for(holds: Callable[[], bool]) -> None:
    """The thread is another one; it needs a moment."""
    until_s = time.monotonic() + 5.0
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.001)
