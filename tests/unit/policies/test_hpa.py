"""Kubernetes' autoscaler: the numbers of its documentation and of its own controller's rules."""

import json
from dataclasses import replace
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.observation import Worker
from elastream.loop.planner import Planner
from elastream.policies.catalogue import policies
from elastream.policies.hpa.behaviour import ratio_of
from elastream.policies.hpa.policy import Hpa, Pods
from elastream.simulator.microbatch.platform import PROVIDES
from tests.unit.policies.observing import EVERYTHING, Dataflow, Doing

# Without damping: what is recommended is what is decided.
CALM: dict[str, Any] = {"down_window_s": 0.0, "up_pods": None, "up_percent": None}


def using(cpu: Any, workers: int = 10) -> Dataflow:
    flow = Dataflow(Doing("map", workers=workers, cpu=cpu))
    flow.passes(600)
    return flow


def followed(flow: Dataflow, policy: Hpa, cpus: list[float], tick_s: float = 15.0) -> list[int]:
    """Sizes decided look after look, where every size is reached at once."""
    planner, sizes = Planner(policy, {}, EVERYTHING), []
    for cpu in cpus:
        planned = planner.plan(flow.passes(tick_s, map={"cpu": cpu}))
        assert not planned.troubles
        sizes.append(planned.decision.allocation["map"])
        flow.resized(map=sizes[-1])
    return sizes


@pytest.mark.parametrize(
    ("workers", "cpu", "target", "size"),
    [
        (10, 0.9, 0.7, 13),
        (1, 1.0, 0.5, 2),
        (4, 0.2, 0.5, 2),
        (7, 0.7, 0.7, 7),
        (10, 0.77, 0.7, 10),
        (10, 0.78, 0.7, 12),
        (10, 0.63, 0.7, 10),
        (10, 0.62, 0.7, 9),
        (10, 0.01, 0.7, 1),
    ],
)
def test_the_size_is_the_ceiling_of_n_times_value_over_target_outside_the_tolerance(
    workers: int, cpu: float, target: float, size: int
) -> None:
    assert using(cpu, workers).decides(Hpa(target=target, **CALM)).allocation == {"map": size}


def test_the_presets_are_those_of_the_documents() -> None:
    flow = using(0.9)
    sizes = {
        name: flow.decides(policies.build(name, CALM)).allocation["map"] for name in policies.names() if "hpa" in name
    }
    assert sizes.pop("hpa-80-learned") == sizes["hpa-80"]
    assert sizes == {"hpa": 13, "hpa-cpu": 13, "hpa-80": 12, "hpa-85": 10, "hpa-60": 15, "hpa-kanis": 13}


def test_full_use_is_learned_of_processors_and_slots_only() -> None:
    with pytest.raises(BadInput, match="full use is learned of cpu and busy, not of memory"):
        Hpa(metric="memory", learn_full_use=True)


def test_the_variant_of_the_thesis_has_no_tolerance_and_no_step_limit() -> None:
    assert using(0.71).decides(policies.build("hpa-kanis")).allocation == {"map": 11}
    assert using(0.9, 60).decides(policies.build("hpa-kanis")).allocation == {"map": 78}
    # It leaves out who is not measured, and speaks of the whole pool all the same.
    assert using((0.9, 0.9, None, None)).decides(policies.build("hpa-kanis")).allocation == {"map": 13}


def test_workers_that_are_not_measured_count_as_idle_when_growing() -> None:
    # Two at 1.0 and two unknown: 2.0 / 4 / 0.5 is exactly the target.
    assert Hpa(target=0.5, **CALM).recommend(Pods((1.0, 1.0), unready=0, missing=2), 4) == 4
    # Three at 1.0 and one unknown: 0.75 / 0.5 = 1.5 of four.
    assert Hpa(target=0.5, **CALM).recommend(Pods((1.0, 1.0, 1.0), unready=0, missing=1), 4) == 6


def test_workers_that_are_not_measured_count_as_fully_used_when_shrinking() -> None:
    # 3 x 0.1 + 1.0 = 1.3 over four is 0.325, 0.65 of the target: three of four.
    assert Hpa(target=0.5, **CALM).recommend(Pods((0.1, 0.1, 0.1), unready=0, missing=1), 4) == 3
    assert Hpa(target=0.5, **CALM).recommend(Pods((0.1, 0.1, 0.1), unready=0, missing=0), 4) == 1


def test_records_that_are_not_known_count_as_the_target_when_shrinking() -> None:
    policy = Hpa(metric="records", target=100.0, **CALM)
    assert policy.recommend(Pods((50.0, 50.0), unready=0, missing=2), 4) == 3


def test_workers_that_are_not_ready_count_as_idle_when_growing_and_not_at_all_when_shrinking() -> None:
    assert Hpa(target=0.5, **CALM).recommend(Pods((1.0, 1.0), unready=1, missing=0), 3) == 4
    assert Hpa(target=0.5, **CALM).recommend(Pods((0.2, 0.2), unready=1, missing=0), 3) == 1
    # Within the tolerance as they are; with an idle third they would not be.
    assert Hpa(target=0.5, **CALM).recommend(Pods((0.475, 0.475), unready=1, missing=0), 3) == 3


def test_nothing_happens_where_assumptions_turn_the_answer_round() -> None:
    # Alone it would grow by a fifth; with two idle ones it would shrink.
    assert Hpa(target=0.5, **CALM).recommend(Pods((0.6, 0.6), unready=2, missing=0), 4) == 4
    # Alone it would shrink; with a fully used one it would grow.
    assert Hpa(target=0.5, **CALM).recommend(Pods((0.4,), unready=0, missing=3), 4) == 4


def test_a_young_worker_counts_once_a_window_lies_behind_its_becoming_ready() -> None:
    flow = using(0.9, 2)
    at_s = flow.at_s + 15.0
    flow.seen_with("map", ready=3, wanted=3, requested=3)
    now = flow.passes(15)
    cpu = now.pools[0].workers[0].cpu
    young = Worker(id="young", state="ready", since_s=at_s - 5.0, cpu=cpu)
    flow.looks[-1] = replace(now, pools=(replace(now.pools[0], workers=(*now.pools[0].workers, young)),))
    decision = flow.decides(Hpa(**CALM))
    assert decision.evidence["unready"] == {"map": 1}
    # 1.8 over three, 0.86 of the target, where 0.9 alone would have grown.
    assert decision.allocation == {"map": 3}


@pytest.mark.parametrize(("trigger_s", "unready"), [(10.0, 0), (60.0, 1)])
def test_a_young_worker_counts_once_it_was_watched_for_a_whole_batch(trigger_s: float, unready: int) -> None:
    flow = Dataflow(Doing("map", workers=2, cpu=0.9), trigger_s=trigger_s)
    flow.passes(600)
    flow.seen_with("map", ready=3, wanted=3, requested=3)
    now = flow.passes(45)
    for number in (-3, -2, -1):
        look = flow.looks[number]
        young = Worker(id="young", state="ready", since_s=now.at_s - 35.0, cpu=look.pools[0].workers[0].cpu)
        flow.looks[number] = replace(look, pools=(replace(look.pools[0], workers=(*look.pools[0].workers, young)),))
    assert flow.decides(Hpa(**CALM)).evidence["unready"] == {"map": unready}


def test_workers_that_were_asked_for_and_cannot_be_named_yet_are_not_ready() -> None:
    flow = using(0.9, 10)
    flow.seen_with("map", wanted=13, requested=13)
    flow.passes(15)
    decision = flow.decides(Hpa(**CALM))
    assert decision.evidence["unready"] == {"map": 3}
    assert decision.allocation == {"map": 13}


def test_it_shrinks_to_the_largest_recommendation_of_five_minutes() -> None:
    flow = using(0.7)
    sizes = followed(flow, Hpa(), [0.7] + [0.35] * 30)
    first = next(number for number, size in enumerate(sizes) if size < 10)
    # The last look at 0.7 was the first; 300 s are twenty looks.
    assert (first, sizes[first]) == (20, 5)


def test_a_recommendation_in_a_snapshot_of_before_decisions_had_notes_counts() -> None:
    flow = using(0.7)
    before, after = Planner(Hpa(), {}, EVERYTHING), Planner(Hpa(), {}, EVERYTHING)
    before.plan(flow.passes(15.0, map={"cpu": 0.5}))
    before.plan(flow.passes(15.0, map={"cpu": 0.7}))
    older = json.loads(json.dumps(before.snapshot()))
    for decision in (older["last"], older["proposal"]):
        decision["evidence"] |= decision.pop("note")
    after.restore(older)
    for look in (flow.passes(15.0, map={"cpu": 0.35}) for _ in range(3)):
        assert after.plan(look) == before.plan(look)
    assert after.snapshot() == before.snapshot()


def test_it_grows_by_four_pods_or_doubles_within_fifteen_seconds() -> None:
    assert using(1.0, 1).decides(Hpa(target=0.1)).allocation == {"map": 5}
    assert using(1.0, 10).decides(Hpa(target=0.1)).allocation == {"map": 20}
    assert using(1.0, 10).decides(Hpa(target=0.1, up_select="min")).allocation == {"map": 14}
    assert using(1.0, 10).decides(Hpa(target=0.1, up_select="disabled")).allocation == {"map": 10}


def test_a_period_counts_from_the_size_at_its_beginning() -> None:
    policy = Hpa(target=0.1, up_percent=None, up_pods=4, up_pods_s=60.0)
    assert followed(using(1.0, 10), policy, [1.0] * 9) == [14, 14, 14, 14, 18, 18, 18, 18, 22]


def test_it_shrinks_by_no_more_than_its_policies_allow() -> None:
    def down(**settings: Any) -> Decision:
        return using(0.01, 20).decides(Hpa(down_window_s=0.0, **settings))

    assert down().allocation == {"map": 1}
    assert down(down_percent=25.0).allocation == {"map": 15}
    assert down(down_percent=25.0, down_pods=2).allocation == {"map": 15}
    assert down(down_percent=25.0, down_pods=2, down_select="min").allocation == {"map": 18}
    assert down(down_select="disabled").allocation == {"map": 20}


def test_however_overloaded_it_grows_by_ceiling_over_target_at_most() -> None:
    # 0.9 is all that processor use rises to, with twice the load as with twenty times.
    assert followed(using(0.9), policies.build("hpa-kanis"), [0.9] * 3) == [13, 17, 22]  # type: ignore[arg-type]


def test_with_the_ceiling_known_a_saturated_pool_is_doubled() -> None:
    assert ratio_of(0.9, 0.7, None) == pytest.approx(0.9 / 0.7)
    assert ratio_of(0.9, 0.7, 0.9) == 2.0
    assert ratio_of(0.8, 0.7, 0.9) == pytest.approx(0.8 / 0.7)
    assert using(0.89).decides(Hpa(ceiling=0.9)).allocation == {"map": 20}


def test_every_pool_is_steered_by_itself_and_one_that_is_not_measured_is_left_alone() -> None:
    flow = Dataflow(Doing("a", workers=4, cpu=0.9), Doing("b", workers=4, cpu=0.1), Doing("c", workers=4, cpu=None))
    flow.passes(60)
    assert flow.decides(Hpa(**CALM)).allocation == {"a": 6, "b": 1, "c": 4}


def test_busy_slots_stand_in_where_no_processor_use_is_known() -> None:
    flow = Dataflow(Doing("map", workers=10, busy=0.9, cpu=None), provides=EVERYTHING - {Hpa().needs[0].signal})
    flow.passes(60)
    assert flow.decides(Hpa(**CALM)).allocation == {"map": 13}


def test_memory_is_a_share_of_what_a_worker_has() -> None:
    flow = using(0.5, 4)
    cpu = flow.now.pools[0].workers[0].cpu
    assert cpu is not None
    workers = tuple(replace(worker, memory_bytes=cpu._replace(value=3e9)) for worker in flow.now.pools[0].workers)
    flow.looks[-1] = replace(flow.now, pools=(replace(flow.now.pools[0], workers=workers, worker_memory_bytes=4e9),))
    assert flow.decides(Hpa(metric="memory", target=0.5, **CALM)).allocation == {"map": 6}


def test_records_per_worker_are_a_metric_like_any_other() -> None:
    flow = Dataflow(Doing("map", workers=4, in_rps=1_000.0))
    flow.passes(60)
    assert flow.decides(Hpa(metric="records", target=100.0, **CALM)).allocation == {"map": 10}


def test_the_reason_has_the_numbers_and_survives_json() -> None:
    decision = using((0.9, 0.9, None), 3).decides(Hpa())
    assert decision.reason.startswith("cpu of map is 0.90 over 2 workers (1 not measured), the target 0.7: 3")
    assert json.loads(json.dumps(decision.evidence)) == decision.evidence


def test_it_holds_where_nobody_is_measured() -> None:
    decision = using(None).decides(Hpa())
    assert (decision.kind, decision.reason) == ("hold", "cpu of map is not known")


def test_a_target_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match=r"target is 0; it must be above 0"):
        Hpa(target=0.0)
    with pytest.raises(BadInput, match=r"tolerance is 1; it must be at least 0 and below 1"):
        Hpa(tolerance=1.0)
    assert Hpa().needs[0].served_by(PROVIDES) is Hpa().needs[0].signal
