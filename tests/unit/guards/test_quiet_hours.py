import pytest

from elastream.core.errors import BadInput
from elastream.core.guards.quiet_hours import QuietHours
from elastream.core.observation import Observation
from elastream.testing import asking, knowing, observation, size

NIGHT = QuietHours(utc=("22:00-06:00",))
DAY_S = 86_400.0


def at(hours: float, *, day: int = 20_000) -> Observation:
    return observation(5.0, ready=3, wanted=8, utc_s=day * DAY_S + hours * 3600)


@pytest.mark.parametrize(
    ("hours", "quiet"), [(22, True), (23.99, True), (0, True), (5.99, True), (6, False), (12, False), (21.99, False)]
)
def test_hours_may_reach_over_midnight(hours: float, quiet: bool) -> None:
    assert size(NIGHT.adjust(asking(5), at(hours), knowing(), None)) == (8 if quiet else 5)


@pytest.mark.parametrize(("hours", "quiet"), [(8.99, False), (9, True), (16.99, True), (17, False), (23, False)])
def test_hours_may_lie_within_a_day(hours: float, quiet: bool) -> None:
    guard = QuietHours(utc=("09:00-17:00",))
    assert size(guard.adjust(asking(9), at(hours), knowing(), None)) == (8 if quiet else 9)


def test_what_stays_is_what_is_wanted_not_what_is_ready() -> None:
    assert size(NIGHT.adjust(asking(3), at(23), knowing(), None)) == 8


def test_growing_may_be_allowed() -> None:
    guard = QuietHours(utc=("22:00-06:00",), frozen="shrink")
    assert size(guard.adjust(asking(5), at(23), knowing(), None)) == 8
    assert size(guard.adjust(asking(12), at(23), knowing(), None)) == 12


def test_the_reason_names_the_hours() -> None:
    assert NIGHT.adjust(asking(5), at(23), knowing(), None).adjustments[0].reason == "no change within 22:00-06:00 UTC"
    shrink = QuietHours(utc=("01:00-02:00", "22:00-06:00"), frozen="shrink")
    assert shrink.adjust(asking(5), at(23), knowing(), None).adjustments[0].reason == (
        "no shrinking within 22:00-06:00 UTC"
    )


def test_the_hours_are_utc_and_not_those_of_the_loop() -> None:
    assert size(NIGHT.adjust(asking(5), observation(23 * 3600.0, wanted=8, utc_s=12 * 3600.0), knowing(), None)) == 5


def test_a_whole_day_can_be_written() -> None:
    guard = QuietHours(utc=("00:00-24:00",))
    for hours in (0.0, 12.0, 23.99):
        assert size(guard.adjust(asking(5), at(hours), knowing(), None)) == 8


@pytest.mark.parametrize("wrong", ["", "22:00", "22-06", "25:00-06:00", "22:60-06:00", "24:30-06:00", "a:b-c:d"])
def test_what_is_no_period_is_refused_at_once(wrong: str) -> None:
    with pytest.raises(BadInput, match="is no period; write it as '22:00-06:00'"):
        QuietHours(utc=(wrong,))
