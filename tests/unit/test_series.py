from elastream.core.observation import Reading
from elastream.core.series import Series


def series(*points: tuple[float, float]) -> Series:
    """From (time, value)."""
    found = Series()
    for at_s, value in points:
        found.add(Reading(value, at_s))
    return found


STEADY = series(*((at_s, 10.0 * at_s) for at_s in range(0, 101, 5)))


def test_the_rate_of_a_running_total_is_its_growth_per_second() -> None:
    assert STEADY.rate(100.0, 30.0) == 10.0
    assert STEADY.rate(100.0, 1e9) == 10.0


def test_a_window_begins_with_the_reading_that_held_then() -> None:
    assert [reading.at_s for reading in STEADY.window(100.0, 12.0)] == [85, 90, 95, 100]
    assert series((0, 0), (60, 600)).rate(60.0, 10.0) == 10.0


def test_one_reading_has_no_rate() -> None:
    assert series((5, 100)).rate(5.0, 30.0) is None
    assert series((5, 100)).slope(5.0, 30.0) is None
    assert Series().rate(5.0, 30.0) is None


def test_no_growth_is_a_rate_of_zero_and_not_unknown() -> None:
    assert series((0, 7), (10, 7)).rate(10.0, 30.0) == 0.0


def test_a_total_that_was_not_read_within_the_window_has_no_rate() -> None:
    assert STEADY.rate(131.0, 30.0) is None
    assert STEADY.slope(131.0, 30.0) is None
    assert STEADY.mean(131.0, 30.0) is None


def test_a_series_that_is_read_no_more_has_no_rate_and_no_slope_however_it_went_before() -> None:
    stopped = series((0, 0), (10, 1_000), (20, 2_000))
    assert stopped.rate(49.9, 30.0) == stopped.slope(49.9, 30.0) == 100.0
    for now_s in (50.0, 51.0, 1e6):
        assert stopped.rate(now_s, 30.0) is None
        assert stopped.slope(now_s, 30.0) is None


def test_nothing_is_said_across_a_reset() -> None:
    assert series((0, 1000), (5, 1050), (10, 3)).rate(10.0, 30.0) is None


def test_a_reset_is_seen_even_when_the_total_has_passed_its_old_height() -> None:
    restarted = series((0, 100), (5, 0), (10, 500))
    assert restarted.rate(10.0, 30.0) is None
    assert restarted.rate(10.0, 5.0) == 100.0


def test_a_level_may_fall() -> None:
    assert series((0, 100), (10, 40)).slope(10.0, 30.0) == -6.0


def test_the_mean_is_of_readings_inside_the_window_only() -> None:
    assert series((0, 1000), (10, 2), (20, 4)).mean(20.0, 20.0) == 3.0
    assert series((0, 0), (10, 0)).mean(10.0, 5.0) == 0.0


def test_a_reading_seen_before_or_from_the_past_is_not_added() -> None:
    found = series((10, 1))
    found.add(Reading(1, 10.0))
    found.add(Reading(9, 5.0))
    assert list(found) == [Reading(1, 10.0)]
    assert found.last == Reading(1, 10.0)


def test_old_readings_are_forgotten() -> None:
    found = series((0, 1), (10, 2), (20, 3))
    found.forget_before(10.0)
    assert [reading.at_s for reading in found] == [10, 20]


def test_a_series_is_bounded_however_often_it_is_read() -> None:
    found = series(*((at_s / 100, at_s) for at_s in range(10_000)))
    assert len(found) == 4096
    assert found.last == Reading(9999, 99.99)
