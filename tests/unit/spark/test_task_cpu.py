"""Processor use of executors that are not on this host, from what their tasks tell."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from elastream.core.errors import CannotRun
from elastream.core.observation import Observation, Worker
from elastream.core.signals import Signal
from elastream.loop.controller import checked
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.spark.jvm.snapshot import ExecutorSeen
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.host_usage import Usage
from elastream.spark.observe.observer import PROVIDES, Observer, provided
from elastream.spark.observe.task_cpu import TaskCpu
from elastream.spark.scale.managers import Standalone, find_manager
from elastream.spark.scale.roster import Registered
from tests.unit.spark.reading import FixedSizes


def executor(busy_s: float, held_s: float, cpu_s: float) -> ExecutorSeen:
    return ExecutorSeen(
        id="1", host="far", removed_s=None, first_task_s=None, running=0, other_running=0, busy_s=busy_s, records=0.0,
        held_s=held_s, cpu_s=cpu_s,
    )  # fmt: skip


def test_short_tasks_have_used_what_they_tell() -> None:
    tasks = TaskCpu()
    assert tasks.update(executor(0.0, 0.0, 0.0), 10.0) == 0.0
    assert tasks.update(executor(2.0, 2.0, 1.5), 12.0) == pytest.approx(1.5)
    assert tasks.update(executor(2.0, 2.0, 1.5), 20.0) == pytest.approx(1.5)


def test_a_long_task_uses_what_those_before_it_used_while_it_runs_and_not_all_at_its_end() -> None:
    tasks, used = TaskCpu(), []
    tasks.update(executor(2.0, 2.0, 1.0), 0.0)
    for at_s in range(1, 31):
        # One task of 30 s, which computes half of the time as the others did.
        ended = at_s == 30
        used.append(tasks.update(executor(2.0 + at_s, 32.0 if ended else 2.0, 16.0 if ended else 1.0), float(at_s)))
    steps = [after - before for before, after in pairwise(used) if after and before]
    assert steps == pytest.approx([0.5] * 29)


def test_before_a_task_has_ended_it_is_not_known_what_the_first_one_computes() -> None:
    tasks = TaskCpu()
    assert tasks.update(executor(0.0, 0.0, 0.0), 0.0) == 0.0
    assert tasks.update(executor(5.0, 0.0, 0.0), 5.0) is None
    assert tasks.update(executor(6.0, 6.0, 3.0), 6.0) == pytest.approx(3.0)


def test_an_executor_that_is_too_old_to_tell_is_unknown_and_one_that_left_is_forgotten() -> None:
    tasks = TaskCpu()
    silent = ExecutorSeen(
        id="1", host=None, removed_s=None, first_task_s=None, running=0, other_running=0, busy_s=9.0, records=0.0
    )
    assert tasks.update(silent, 1.0) is None
    tasks.update(executor(2.0, 2.0, 1.0), 2.0)
    tasks.keep(set())
    assert tasks.update(executor(0.0, 0.0, 0.0), 3.0) == 0.0


def looks(
    share: float, *, here: tuple[str, ...] = (), emulated: bool = False, until_s: int = 120
) -> Iterator[Observation]:
    """Two executors of two slots that are busy all the time, with tasks of 1 s that compute for a share of it."""
    at_s = 0.0

    def usage() -> dict[str, Usage]:
        return {name: Usage(pid=1, cpu_s=2 * at_s * share, memory_bytes=3e8) for name in here}

    observer = Observer(
        application="app", bounds=(1, 8), slots_per_worker=2, worker_memory_bytes=4e8, emulated=emulated, usage=usage
    )
    for number in range(0, until_s, 5):
        at_s = float(number)
        ms = number * 1000
        told: dict[str, Any] = {"host": "far", "busy_ms": 2 * ms, "held_ms": 2 * ms, "cpu_ms": int(2 * ms * share)}
        look = parse_snapshot(json.dumps({"at_ms": 1_000_000 + ms, "executors": {"1": told, "2": told}}))
        yield observer.fold(look, Registered(("1", "2"), ()), FixedSizes(), at_s=at_s, utc_s=1_000.0 + at_s)


def planner(policy: str, **settings: object) -> Planner:
    return Planner(policies.build(policy, settings), {}, PROVIDES)


def workers(now: Observation) -> tuple[Worker, ...]:
    return now.pools[0].workers


def test_processor_use_of_executors_elsewhere_is_what_their_tasks_tell_and_memory_is_unknown() -> None:
    now = list(looks(0.9))[-1]
    assert [worker.cpu_from for worker in workers(now)] == ["tasks", "tasks"]
    assert [worker.cpu and worker.cpu.value for worker in workers(now)] == pytest.approx([0.9, 0.9])
    assert [worker.memory_bytes for worker in workers(now)] == [None, None]
    assert now.lacks == {
        Signal.WORKER_MEMORY: "the processes of 2 of 2 executors cannot be seen from the driver's host"
    }


def test_beside_one_that_is_here_each_has_its_own_source_and_memory_lacks() -> None:
    now = list(looks(0.5, here=("1",)))[-1]
    assert [worker.cpu_from for worker in workers(now)] == ["proc", "tasks"]
    assert [worker.cpu and worker.cpu.value for worker in workers(now)] == pytest.approx([0.5, 0.5])
    assert "1 of 2 executors" in now.lacks[Signal.WORKER_MEMORY]
    assert not list(looks(0.5, here=("1", "2")))[-1].lacks


def test_one_that_was_seen_here_and_whose_process_has_just_ended_does_not_count_as_elsewhere() -> None:
    here = {"1": Usage(pid=1, cpu_s=1.0, memory_bytes=1.0)}
    observer = Observer(application="app", bounds=(1, 8), slots_per_worker=2, usage=lambda: here)
    look = parse_snapshot(json.dumps({"at_ms": 1_000, "executors": {}}))
    for at_s in (1.0, 2.0):
        now = observer.fold(look, Registered(("1",), ()), FixedSizes(), at_s=at_s, utc_s=at_s)
        assert not now.lacks
        here = {}


@pytest.mark.parametrize(
    ("policy", "share", "grows"), [("hpa", 0.95, True), ("threshold", 0.95, True), ("hpa", 0.3, False)]
)
def test_policies_decide_by_the_processor_use_of_executors_elsewhere(policy: str, share: float, grows: bool) -> None:
    plan = planner(policy)
    made = [plan.plan(now).decision for now in looks(share, until_s=900)]
    assert (max(decision.allocation["executors"] for decision in made) > 2) is grows
    assert (min(decision.allocation["executors"] for decision in made) < 2) is not grows


def test_a_policy_that_needs_memory_holds_says_why_and_decides_again_when_all_executors_are_here() -> None:
    plan = planner("hpa", metric="memory", target=0.5)
    elsewhere = [plan.plan(now).decision for now in looks(0.5, until_s=60)]
    assert {decision.kind for decision in elsewhere} == {"hold"}
    assert elsewhere[-1].reason == (
        "the policy needs worker-memory, which cannot be told now: the processes of 2 of 2 executors cannot be seen "
        "from the driver's host"
    )
    plan = planner("hpa", metric="memory", target=0.5)
    assert "hold" not in {plan.plan(now).decision.kind for now in list(looks(0.5, here=("1", "2")))[1:]}


def test_a_policy_that_needs_memory_is_refused_where_the_first_look_lacks_it() -> None:
    class Far:
        name = "spark"
        provides = PROVIDES

    first = next(looks(0.5))
    far: Any = Far()
    with pytest.raises(CannotRun, match=r"needs worker-memory, which is not provided there \(the processes of 2 of 2"):
        checked(planner("hpa", metric="memory", target=0.5), far, "hpa", first)
    assert checked(planner("hpa"), far, "hpa", first) == "hpa on spark: has all signals"


def test_emulated_slots_have_no_processor_use_and_busy_slots_stand_in() -> None:
    now = list(looks(0.1, emulated=True))[-1]
    assert [(worker.cpu_from, worker.cpu and worker.cpu.value) for worker in workers(now)] == [("busy-slots", 1.0)] * 2
    assert Signal.WORKER_CPU not in provided(Standalone(), emulated=True)
    for policy in ("hpa", "threshold", "daedalus"):
        need = next(need for need in policies.build(policy, {}).needs if need.signal is Signal.WORKER_CPU)
        assert need.served_by(provided(Standalone(), emulated=True)) is Signal.BUSY_SLOTS


def test_who_leaves_can_be_said_on_spark_and_where_one_is_added_cannot() -> None:
    for master in ("spark://host:7077", "yarn", "k8s://https://host"):
        signals = provided(find_manager(master), emulated=False)
        assert Signal.WORKER_CHOICE in signals
        assert Signal.PLACE_CHOICE not in signals
