"""The sampled arrival curve, and delays from it."""

import pytest

from elastream.spark.observe.arrival_curve import ArrivalCurve


def curve(*points: tuple[float, float]) -> ArrivalCurve:
    made = ArrivalCurve()
    for at_s, records in points:
        made.add(at_s, records)
    return made


def test_a_record_between_two_samples_arrived_between_them() -> None:
    assert curve((0.0, 0.0), (10.0, 100.0)).arrived_s(50.0) == pytest.approx(5.0)


def test_what_was_there_before_the_first_sample_has_no_known_arrival() -> None:
    known = curve((10.0, 100.0), (20.0, 200.0))
    assert known.arrived_s(50.0) is None
    assert known.arrived_s(201.0) is None
    assert [part.records for part in known.stretches(50.0, 150.0, 30.0)] == [50.0]


def test_delays_of_a_batch_follow_from_the_curve_and_its_commit() -> None:
    known = curve((0.0, 0.0), (10.0, 100.0), (20.0, 100.0), (30.0, 400.0))
    parts = list(known.stretches(50.0, 250.0, 40.0))
    assert [(part.shortest_s, part.longest_s, part.records) for part in parts] == [
        (30.0, 35.0, 50.0),
        (15.0, 20.0, 150.0),
    ]


def test_samples_may_come_late_and_contradictions_are_left_out() -> None:
    known = curve((0.0, 0.0), (20.0, 200.0), (10.0, 150.0), (30.0, 90.0), (15.0, 120.0))
    assert known.arrived_s(150.0) == pytest.approx(10.0)
    assert known.last == (20.0, 200.0)


def test_the_rate_is_that_of_the_newest_samples() -> None:
    assert curve((0.0, 0.0), (100.0, 100.0), (110.0, 1100.0)).rate(115.0) == pytest.approx(100.0)
    assert curve((0.0, 5.0)).rate(1.0) is None


def test_a_long_watch_keeps_a_bounded_curve_and_still_spans_it() -> None:
    known = ArrivalCurve()
    for second in range(20_000):
        known.add(float(second), second * 10.0)
    assert known.arrived_s(100_005.0) == pytest.approx(10_000.5, abs=20.0)
    known.forget_before(199_000.0)
    assert known.arrived_s(1_000.0) is None
    assert known.arrived_s(199_500.0) == pytest.approx(19_950.0)


def test_a_curve_that_was_thinned_tells_delays_of_new_records_exactly_and_of_old_ones_closely() -> None:
    known = ArrivalCurve()
    # Records come every other second, so that every sample counts.
    total = [2_000.0 * (second // 2) + second for second in range(6_000)]
    for second, records in enumerate(total):
        known.add(float(second), records)
    newest, older = range(5_000, 6_000), range(2_000, 5_000, 7)
    assert [known.arrived_s(total[second]) for second in newest] == pytest.approx(list(newest))
    assert [known.arrived_s(total[second]) for second in older] == pytest.approx(list(older), abs=10.0)
    # A backlog may reach back to the very first sample.
    assert known.arrived_s(1.0) is not None
    assert known.arrived(0.0) == 0.0
