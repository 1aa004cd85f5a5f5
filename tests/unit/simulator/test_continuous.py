"""The rules of the continuous engine, one by one, in numbers that can be worked out by hand."""

from dataclasses import replace
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.loop.clock import VirtualClock
from elastream.simulator.continuous.engine import ContinuousEngine
from elastream.simulator.continuous.instances import Instances
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    MeasuringModel,
    OperatorModel,
    PlacesModel,
    RestartModel,
    WindowModel,
    own_pools,
)
from elastream.simulator.continuous.platform import SimulatedDataflow
from elastream.simulator.faults import Fault, SinkBlocked, SlowStart, Straggler, WorkerLoss
from elastream.simulator.pool_model import PoolModel
from elastream.workloads.series import RateSeries


def operator(name: str, after: str, rate_rps: float, selectivity: float = 1.0, **other: Any) -> OperatorModel:
    return OperatorModel(name=name, after=(Feed(after, selectivity),), rate_rps=rate_rps, **other)


READ = operator("read", "log", 100.0)


def job(*operators: OperatorModel, pool: PoolModel = WARM, log: LogModel | None = None, **other: Any) -> DataflowModel:
    operators = operators or (READ,)
    return DataflowModel(
        name="j", logs=(log or LogModel(name="log"),), operators=operators, pools=own_pools(operators, pool), **other
    )


def engine(model: DataflowModel, rps: float = 50.0, faults: tuple[Fault, ...] = ()) -> ContinuousEngine:
    curve = RateSeries.constant(rps, duration_s=600.0)
    return ContinuousEngine(model, {"log": curve}, seed=1, faults=faults)


def after(run: ContinuousEngine, to_s: float) -> dict[str, Instances]:
    run.advance(to_s)
    return {operator.model.name: operator for operator in run.operators}


def test_a_job_that_keeps_up_has_no_backlog_and_its_base_latency() -> None:
    run = engine(job(base_latency_s=1.5))
    found = after(run, 60.0)
    assert run.counted() == (3000, 0)
    assert found["read"].busy_s == pytest.approx(30.0)
    delay = run.delay.at(60.0)
    assert delay is not None
    assert (delay.p50_s, delay.p99_s) == pytest.approx((1.5, 1.5))


def test_what_cannot_be_read_waits_in_the_log_first_in_first_out() -> None:
    run = engine(job(), rps=200.0)
    after(run, 60.0)
    assert run.counted() == (6000, 6000)
    # The last record committed at 60 s is number 6000, which arrived at 30 s.
    assert run.delays[-1].longest_s == pytest.approx(30.0)
    assert run.logs[0].oldest_s() == pytest.approx(30.0)


def test_selectivity_multiplies_what_reaches_the_next_operator() -> None:
    found = after(engine(job(READ, operator("count", "read", 2000.0, 20.0))), 10.0)
    assert (found["read"].records_in, found["read"].records_out, found["count"].records_in) == (500.0, 10e3, 10e3)


def test_back_pressure_travels_to_the_source_and_nothing_waits_beyond_the_buffers() -> None:
    chain = (READ, operator("map", "read", 100.0, buffer=30.0), operator("sink", "map", 20.0, buffer=10.0))
    run = engine(job(*chain))
    found = after(run, 100.0)
    assert (found["map"].queue, found["sink"].queue) == pytest.approx((30.0, 10.0))
    assert found["sink"].records_in == pytest.approx(2000.0)
    before = {name: one.backpressure_s for name, one in found.items()}
    found = after(run, 200.0)
    held = {name: (one.backpressure_s - before[name]) / 100.0 for name, one in found.items()}
    # At 20 of 100 records/s, four fifths of the time are spent waiting; the one that is to blame waits for nobody.
    assert held == pytest.approx({"read": 0.8, "map": 0.8, "sink": 0.0})


def test_without_a_bound_queues_grow_and_nobody_is_held_back() -> None:
    found = after(engine(job(READ, operator("sink", "read", 20.0))), 100.0)
    assert found["sink"].queue == pytest.approx(3000.0)
    assert found["read"].backpressure_s == 0.0


def test_a_hot_key_goes_to_one_instance_and_more_of_them_help_little() -> None:
    hot = operator("count", "read", 10.0, hot_share=0.5, buffer=5.0)
    run = engine(job(replace(READ, rate_rps=1000.0), hot), rps=500.0)
    run.resize({"read": 1, "count": 10})
    found = after(run, 100.0)
    # One instance of ten has 0.5 + 0.05 of the input and does 10 records/s.
    assert found["count"].records_in / 100 == pytest.approx(10 / 0.55, rel=0.05)


@pytest.mark.parametrize(("size", "rps"), [(1, 100.0), (4, 200.0), (9, 300.0)])
def test_instances_scale_with_a_power_of_their_number(size: int, rps: float) -> None:
    run = engine(job(replace(READ, scaling=0.5)), rps=1e4)
    run.resize({"read": size})
    assert after(run, 10.0)["read"].records_in == pytest.approx(10 * rps)


@pytest.mark.parametrize(("size", "rps"), [(1, 100.0), (4, 400 / 1.24), (16, 1600 / 5.8)])
def test_instances_that_hinder_each_other_do_less_from_some_number_on(size: int, rps: float) -> None:
    run = engine(job(replace(READ, crosstalk=0.02)), rps=1e4)
    run.resize({"read": size})
    assert after(run, 10.0)["read"].records_in == pytest.approx(10 * rps)


def test_the_most_distant_workers_cost_throughput() -> None:
    places = PlacesModel(nodes=("a", "b", "c"), delays_ms={"a": {"b": 10.0, "c": 30.0}, "b": {"c": 20.0}})
    run = engine(job(replace(READ, delay_cost_rps=2.0), pool=replace(WARM, initial_workers=3), places=places), rps=1e4)
    assert after(run, 1.0)["read"].records_in == pytest.approx(300 - 2 * 30)


def test_processors_that_wait_for_the_network_are_idle_though_the_operator_can_do_no_more() -> None:
    places = PlacesModel(nodes=("a", "b"), delays_ms={"a": {"b": 50.0}})
    read = replace(READ, delay_cost_rps=1.0, delay_idle=0.8)
    run = engine(job(read, pool=replace(WARM, initial_workers=2), places=places), rps=1e4)
    seen = after(run, 10.0)["read"]
    run.settle_accounts()
    assert seen.records_in == pytest.approx(10 * 150)
    assert seen.busy_s == pytest.approx(20.0)
    # 50 of 200 records/s are lost, in four of five cases because nothing is there to be done.
    assert sum(worker.busy_slot_s for worker in run.clusters["read"].workers) == pytest.approx(20.0 * (1 - 0.8 / 4))


def nodes_of(run: ContinuousEngine) -> list[str | None]:
    return [worker.node for worker in run.clusters["read"].workers]


def test_the_first_workers_are_on_the_nodes_that_are_named() -> None:
    places = PlacesModel(nodes=("a", "b", "c", "d"), start=("c", "b"))
    assert sorted(map(str, nodes_of(engine(job(pool=replace(WARM, initial_workers=2), places=places))))) == ["b", "c"]
    with pytest.raises(BadInput, match="start names 'z', which is no node; known: a, b, c, d"):
        job(pool=replace(WARM, initial_workers=2), places=replace(places, start=("z",)))


def test_workers_that_nobody_places_start_anywhere_after_a_change_if_all_are_stopped() -> None:
    nodes = tuple(f"n{number}" for number in range(40))
    pool = replace(WARM, initial_workers=3, max_workers=40)
    stay = engine(job(pool=pool, places=PlacesModel(nodes=nodes)))
    move = engine(job(pool=pool, places=PlacesModel(nodes=nodes, anew=True)))
    assert nodes_of(stay) == nodes_of(move)
    before = nodes_of(move)
    move.resize({"read": 4}, add_on=["n39"] if "n39" not in before else ["n38"])
    assert nodes_of(move)[:3] == before, "a change that says where moves nobody"
    for run in (stay, move):
        run.resize({"read": 5})
    assert nodes_of(stay)[:3] == before
    assert set(before).isdisjoint(nodes_of(move)), "of forty nodes these draws hit none of the three"
    assert len(set(nodes_of(move))) == 5


def test_a_decision_chooses_who_leaves_and_where_one_is_added() -> None:
    places = PlacesModel(nodes=("a", "b", "c", "d"))
    run = engine(job(pool=replace(WARM, initial_workers=2), places=places))
    workers = {worker.id: worker.node for worker in run.clusters["read"].workers}
    gone = next(iter(workers))
    run.resize({"read": 1}, leave_first=[gone])
    assert [worker.id for worker in run.clusters["read"].workers] == [name for name in workers if name != gone]
    free = [node for node in places.nodes if node != run.clusters["read"].workers[0].node]
    run.resize({"read": 2}, add_on=[free[-1]])
    assert run.clusters["read"].workers[-1].node == free[-1]


def test_readers_of_more_partitions_fall_behind_while_others_keep_up() -> None:
    # Three partitions over two readers of 100 records/s: the first gets 120 of 180 records/s.
    run = engine(job(pool=replace(WARM, initial_workers=2), log=LogModel(name="log", partitions=3)), rps=180.0)
    after(run, 100.0)
    assert run.counted() == (16_000, 2_000)
    run.resize({"read": 3})
    after(run, 120.0)
    # Each partition has its reader now: two of them catch up by 40 records/s each.
    assert run.counted() == (21_200, 400)


def test_records_that_stay_too_long_in_the_log_are_gone() -> None:
    run = engine(job(log=LogModel(name="log", retention_s=10.0)), rps=200.0)
    after(run, 60.0)
    log = run.logs[0]
    assert log.expired == pytest.approx(12_000 - 6_000 - 2_000)
    assert max(part.longest_s for part in run.delays) == pytest.approx(10.5, abs=0.6)


def test_a_generator_that_is_held_back_makes_nothing_up() -> None:
    run = engine(job(log=LogModel(name="log", retention_s=0.0)), rps=200.0)
    after(run, 60.0)
    assert run.counted() == (6000, 0)
    assert run.logs[0].expired == pytest.approx(6000.0)


def test_a_generator_is_held_for_the_share_of_its_records_that_it_could_not_make() -> None:
    # It could make 1,000 a second and makes 200, of which 50 get through: it rests between records as before.
    slow = operator("map", "read", 50.0, buffer=0.0)
    run = engine(job(operator("read", "log", 1000.0), slow, log=LogModel(name="log", retention_s=0.0)), rps=200.0)
    found = after(run, 60.0)
    assert found["read"].backpressure_s == pytest.approx(0.75 * 60)
    assert found["read"].busy_s == pytest.approx(0.05 * 60)
    # Who reads a log that holds more has something to do all the time.
    found = after(engine(job(operator("read", "log", 1000.0), slow), rps=200.0), 60.0)
    assert found["read"].backpressure_s == pytest.approx(0.95 * 60)


def test_a_full_queue_stops_all_sources_until_it_is_worked_off_to_the_mark() -> None:
    model = job(
        operator("read", "log", 100.0),
        operator("map", "read", 50.0, buffer=1_000.0),
        operator("count", "map", 25.0, buffer=10_000.0),
        log=LogModel(name="log", retention_s=0.0),
        stops_sources_until=0.6,
    )
    run = engine(model, rps=100.0)
    found = after(run, 20.0)
    # 50 records/s too many: full after 20 s, then 400 records to work off at 50/s.
    assert found["map"].queue == pytest.approx(1_000.0)
    run.advance(28.0)
    assert found["map"].queue == pytest.approx(600.0)
    assert found["read"].backpressure_s == pytest.approx(8.0)
    assert found["map"].records_in == pytest.approx(28 * 50.0), "who is in between goes on"
    run.advance(36.0)
    assert found["map"].queue == pytest.approx(1_000.0)
    # Half of the time since then, whatever the buffer of the last operator holds: it is not full yet.
    run.advance(36.0 + 16 * 10)
    assert found["read"].backpressure_s == pytest.approx(8.0 + 8 * 10)
    assert found["map"].backpressure_s == 0.0


def test_what_stops_the_sources_is_the_first_that_is_not_held_up_itself() -> None:
    model = job(
        operator("read", "log", 100.0),
        operator("map", "read", 100.0, buffer=1_000.0),
        operator("count", "map", 50.0, buffer=1_000.0),
        log=LogModel(name="log", retention_s=0.0),
        stops_sources_until=0.5,
    )
    found = after(engine(model, rps=100.0), 40.0)
    assert found["read"].backpressure_s == found["map"].backpressure_s == pytest.approx(10.0)
    assert found["count"].backpressure_s == 0.0


def test_a_mark_at_which_nothing_would_ever_be_stopped_is_refused() -> None:
    with pytest.raises(BadInput, match="stops_sources_until is 1; it must be below 1"):
        job(stops_sources_until=1.0)


def test_a_window_looks_fast_while_it_fills_and_slow_when_it_fires() -> None:
    window = operator("read", "log", 1000.0, window=WindowModel(every_s=10.0, fire_rps=100.0))
    run = engine(job(window, operator("sink", "read", 1000.0, 0.1)), rps=50.0)
    found = after(run, 10.0)
    assert found["read"].busy_s == pytest.approx(0.5)
    found = after(run, 15.0)
    # 500 records at 100/s: five seconds in which nothing is taken in.
    assert (found["read"].records_in, found["read"].busy_s) == pytest.approx((500.0, 5.5))
    assert found["sink"].records_in == pytest.approx(50.0)
    assert run.counted() == (500, 250)


def test_windows_that_overlap_work_through_each_record_several_times() -> None:
    window = operator("read", "log", 1000.0, window=WindowModel(every_s=10.0, length_s=30.0, fire_rps=1e6))
    run = engine(job(window, operator("sink", "read", 1e6)), rps=50.0)
    found = after(run, 51.0)
    # Windows that end at 10, 20, 30, 40 and 50 s hold 1, 2, 3, 3 and 3 slides of 500 records.
    assert found["sink"].records_in == pytest.approx(12 * 500.0)


def test_a_change_stops_the_job_for_a_time_that_depends_on_its_direction() -> None:
    run = engine(job(restart=RestartModel(grow_s=30.0, shrink_s=15.0)))
    run.advance(10.0)
    run.resize({"read": 3})
    assert run.restarts.down
    assert [worker.state for worker in run.clusters["read"].workers] == ["ready", "starting", "starting"]
    run.advance(40.0)
    assert run.counted() == (500, 1500)
    run.advance(60.0)
    assert run.counted() == (3000, 0)
    run.resize({"read": 1})
    run.advance(75.0)
    assert run.restarts.down
    run.advance(76.0)
    assert not run.restarts.down


def test_a_replay_takes_the_times_of_the_recorded_run_and_then_the_usual_ones() -> None:
    run = engine(job(restart=RestartModel(grow_s=30.0, downtimes_s=(5.0, 7.0))))
    down = []
    for size in (2, 3, 4):
        run.resize({"read": size})
        began = run.now_s
        while run.restarts.down:
            run.advance(run.now_s + 1)
        down.append(run.now_s - began - 1)
    assert down == [5.0, 7.0, 30.0]


def test_work_since_the_last_checkpoint_is_done_again_and_committed_once() -> None:
    run = engine(job(restart=RestartModel(grow_s=5.0, checkpoint_s=10.0)))
    run.advance(18.0)
    run.resize({"read": 2})
    found = after(run, 60.0)
    # A checkpoint at 10 s, so that 8 s of 50 records/s are read twice.
    assert found["read"].records_in == pytest.approx(3000.0 + 400.0)
    assert run.counted() == (3000, 0)
    assert sum(part.records for part in run.delays) == pytest.approx(3000.0)


def test_with_a_savepoint_nothing_is_done_again() -> None:
    run = engine(job(restart=RestartModel(grow_s=5.0)))
    run.advance(18.0)
    run.resize({"read": 2})
    assert after(run, 60.0)["read"].records_in == pytest.approx(3000.0)


def test_what_is_decided_during_a_restart_is_carried_out_by_the_next() -> None:
    run = engine(job(restart=RestartModel(grow_s=10.0)))
    run.resize({"read": 2})
    run.advance(5.0)
    run.resize({"read": 3})
    run.advance(11.0)
    assert run.restarts.down
    run.advance(21.0)
    assert (run.restarts.down, after(run, 22.0)["read"].count) == (False, 3)


def test_more_than_there_is_room_for_is_not_started() -> None:
    pair = (READ, operator("sink", "read", 100.0))
    run = engine(job(*pair, cluster_workers=5))
    run.resize({"read": 3, "sink": 4})
    assert {name: len(cluster.workers) for name, cluster in run.clusters.items()} == {"read": 3, "sink": 2}
    assert run.clusters["sink"].wanted == 4


def test_operators_of_one_pool_take_turns() -> None:
    pair = (operator("a", "log", 100.0, pool="w"), operator("b", "a", 50.0, pool="w", buffer=10.0))
    found = after(engine(job(*pair), rps=500.0), 100.0)
    # 10 ms and 20 ms per record on one worker.
    assert found["b"].records_in / 100 == pytest.approx(100 / 3, rel=0.02)


def test_operators_that_nobody_holds_back_share_a_pool_and_the_queue_grows() -> None:
    pair = (operator("a", "log", 1000.0, pool="w"), operator("b", "a", 50.0, pool="w"))
    run = engine(job(*pair), rps=100.0)
    found = after(run, 100.0)
    assert found["b"].records_in / 100 == pytest.approx(45.0, rel=0.03)
    assert found["b"].queue > 5000


def test_useful_time_misses_a_part_of_the_work_at_low_load_only() -> None:
    seen = job(replace(READ, unseen=0.2))
    assert after(engine(seen, rps=25.0), 40.0)["read"].busy_s == pytest.approx(10.0 * (1 - 0.2 * 0.75))
    assert after(engine(seen, rps=200.0), 40.0)["read"].busy_s == pytest.approx(40.0)


def test_busy_time_stays_below_its_ceiling_and_is_unsteady_only_while_there_is_lag() -> None:
    model = job(measuring=MeasuringModel(busy_ceiling=0.9, unsteady=0.2))
    assert after(engine(model, rps=100.0), 40.0)["read"].busy_s == pytest.approx(36.0)
    run, shares, before = engine(model, rps=300.0), [], 0.0
    for second in range(1, 60):
        busy_s = after(run, float(second))["read"].busy_s
        shares.append(busy_s - before)
        before = busy_s
    assert 0.72 <= min(shares[1:]) < max(shares[1:]) <= 0.9
    assert len(set(shares)) > 50


def test_a_lost_worker_stops_the_job_until_it_is_replaced() -> None:
    run = engine(job(restart=RestartModel(loss_s=20.0, checkpoint_s=10.0)), faults=(WorkerLoss(at_s=15.0),))
    found = after(run, 60.0)
    assert [worker.id for worker in run.clusters["read"].workers] == ["read-2"]
    assert found["read"].records_in > 40 * 50
    assert run.restarts.done == 1


def test_a_slow_worker_holds_up_those_that_share_its_input() -> None:
    keyed = (replace(READ, rate_rps=1e4), operator("count", "read", 100.0, buffer=1.0))
    # Oldest first: the four that read, and one of the four that count.
    slow = Straggler(at_s=0.0, workers=5, factor=4.0)
    run = engine(job(*keyed, pool=replace(WARM, initial_workers=4)), rps=1000.0, faults=(slow,))
    assert after(run, 50.0)["count"].records_in / 50 == pytest.approx(100.0, rel=0.05)


def test_a_blocked_sink_commits_nothing() -> None:
    run = engine(job(), faults=(SinkBlocked(at_s=10.0, for_s=20.0),))
    run.advance(30.0)
    assert run.counted() == (500, 1000)


def test_a_slow_start_delays_the_restart_while_the_job_goes_on() -> None:
    run = engine(job(restart=RestartModel(grow_s=5.0)), faults=(SlowStart(at_s=0.0, by_s=20.0),))
    run.resize({"read": 2})
    run.advance(20.0)
    assert run.counted() == (1000, 0)
    run.advance(25.0)
    assert run.counted() == (1000, 250)


def test_a_look_tells_every_worker_its_use_and_records_each_second() -> None:
    clock = VirtualClock()
    pool = replace(WARM, initial_workers=2, cpu_ceiling=0.9)
    places = PlacesModel(nodes=("a", "b", "c"), delays_ms={"a": {"b": 7.0}})
    platform = SimulatedDataflow(
        job(pool=pool, places=places), {"log": RateSeries.constant(100.0, duration_s=60.0)}, clock
    )
    platform.observe()
    for second in (1.0, 2.0, 3.0):
        clock.sleep_until(second)
        look = platform.observe()
        for worker in look.pools[0].workers:
            assert worker.cpu is not None
            assert worker.records is not None
            assert worker.cpu == pytest.approx((0.45, second))
            assert worker.records == pytest.approx((50.0 * second, second))
            assert worker.node is not None
            assert worker.delays_ms is not None
            assert set(worker.delays_ms) == {"a", "b", "c"} - {worker.node}
    query = look.queries[0]
    assert (query.batches, query.finished, query.running) == (None, None, None)
    assert query.phase == "running", "it keeps up, which is not to be idle"
    assert query.operators[0].backpressure_s is None, "nothing holds back in this job"


def test_a_look_tells_how_much_the_buffers_in_front_of_all_instances_hold() -> None:
    chain = (READ, operator("map", "read", 50.0, buffer=30.0), operator("sink", "map", 100.0))
    model = job(*chain)
    model = replace(model, pools={**model.pools, "map": replace(model.pools["map"], initial_workers=3)})
    platform = SimulatedDataflow(model, {"log": RateSeries.constant(100.0, duration_s=60.0)}, VirtualClock())
    rooms = {work.name: work.queue_room for work in platform.observe().queries[0].operators}
    assert rooms == {"read": None, "map": (90.0, 0.0), "sink": None}


def test_uneven_partitions_show_in_the_use_of_each_worker_every_second() -> None:
    clock = VirtualClock()
    # Four partitions over three readers of 100 records/s: 120, 60 and 60 of 240 records/s, and after 10 s 40, 20, 20.
    curve = RateSeries.steps([240.0, 80.0, 80.0], step_s=10.0, duration_s=30.0)
    model = job(pool=replace(WARM, initial_workers=3), log=LogModel(name="log", partitions=4))
    platform = SimulatedDataflow(model, {"log": curve}, clock)
    platform.observe()
    uses, records = [], []
    for second in range(1, 21):
        clock.sleep_until(float(second))
        workers = platform.observe().pools[0].workers
        uses.append([worker.cpu.value for worker in workers if worker.cpu])
        records.append([worker.records.value for worker in workers if worker.records])
    assert all(use == pytest.approx([1.0, 0.6, 0.6]) for use in uses[:10])
    # 200 records are left behind, all of the first reader: at 60 a second it needs 3 1/3 s more.
    assert all(use == pytest.approx([1.0, 0.2, 0.2]) for use in uses[10:13])
    assert all(use == pytest.approx([0.4, 0.2, 0.2]) for use in uses[14:])
    assert records[-1] == pytest.approx([1_600.0, 800.0, 800.0])


def test_a_job_without_data_is_told_from_one_that_keeps_up_or_is_down() -> None:
    clock = VirtualClock()
    curve = RateSeries.steps([0.0, 50.0, 0.0], step_s=20.0, duration_s=60.0)
    platform = SimulatedDataflow(job(restart=RestartModel(grow_s=5.0)), {"log": curve}, clock)
    phases = []
    for at_s in (10.0, 30.0, 50.0):
        clock.sleep_until(at_s)
        phases.append(platform.observe().queries[0].phase)
    assert phases == ["no-data", "running", "no-data"]
    platform.apply(Decision(allocation={"read": 2}, reason="a test"))
    clock.sleep_until(52.0)
    look = platform.observe()
    assert look.queries[0].phase == "restarting"
    assert (look.pools[0].wanted, look.pools[0].ready, look.pools[0].workers[0].cpu) == (2, 1, None)
