import logging
from dataclasses import replace

import pytest

from elastream.config import resolve
from elastream.core.errors import BadInput
from elastream.core.observation import Reading, Source
from elastream.core.slo import OnTime, Slo, worst_of
from elastream.core.tick import Tick
from elastream.estimators.delay import Punctuality, Stretch, records_within
from elastream.loop.slo_log import SloLog, slo_sentence
from elastream.spark.observe.arrival_curve import ArrivalCurve
from elastream.testing import delay, observation, query

SLO = Slo(delay_s=30.0)


def test_a_promise_is_a_share_of_records_within_a_bound() -> None:
    assert SLO.sentence() == "99 % of records within 30 s"
    assert OnTime(records=1000, within=990).keeps(SLO)
    assert OnTime(records=1000, within=989).keeps(SLO) is False
    assert OnTime(records=0, within=0).keeps(SLO) is None


def test_a_share_that_falls_short_is_never_rounded_up_to_the_promise() -> None:
    assert OnTime(records=100_000, within=98_999).sentence(SLO).startswith("98.99 % of 100,000 records within 30 s")


def test_records_of_one_stretch_are_split_where_the_bound_cuts_it() -> None:
    parts = [Stretch(100.0, 10.0, 50.0, 400.0), Stretch(100.0, 0.0, 5.0, 10.0), Stretch(100.0, 31.0, 40.0, 7.0)]
    assert records_within(parts, 30.0) == (417.0, 210.0)


def test_what_waits_for_longer_than_the_bound_is_judged_before_it_is_committed() -> None:
    counted = Punctuality(SLO)
    counted.add([Stretch(40.0, 0.0, 20.0, 100.0)])
    assert counted.at(overdue=25.0) == OnTime(records=125.0, within=100.0)
    assert Punctuality(None).at(overdue=25.0) is None


def test_of_several_promises_the_one_that_is_kept_least_counts() -> None:
    kept, broken = (SLO, OnTime(records=100, within=100)), (SLO, OnTime(records=100, within=50))
    assert worst_of([kept, broken]) == broken
    assert worst_of([(SLO, OnTime(records=0, within=0))]) is None


def test_an_arrival_curve_tells_how_much_had_come_by_a_time() -> None:
    curve = ArrivalCurve()
    assert curve.arrived(5.0) == 0.0
    for at_s, records in ((10.0, 0.0), (20.0, 100.0)):
        curve.add(at_s, records)
    assert [curve.arrived(at_s) for at_s in (5.0, 10.0, 15.0, 20.0, 60.0)] == [0.0, 0.0, 50.0, 100.0, 100.0]


def test_the_old_name_is_read_with_a_warning_and_means_what_it_meant(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        settings = resolve({}, {"spark.elastream.slo.p95_s": "30s"}, {}, None).settings
    assert settings.slo.build() == Slo(delay_s=30.0, share=0.95)
    assert "spark.elastream.slo.p95_s is an old name; write slo.delay" in caplog.text


def test_a_share_may_be_written_in_percent() -> None:
    settings = resolve({"slo.delay": "1m", "slo.share": "95%"}, {}, {}, None).settings
    assert settings.slo.build() == Slo(delay_s=60.0, share=0.95)
    with pytest.raises(BadInput, match=r"slo.share: found '120%'; it must be less than or equal to 1"):
        resolve({"slo.share": "120%"}, {}, {}, None)


def tick(within: float) -> Tick:
    judged = replace(query(), slo=SLO, on_time=OnTime(records=1000.0, within=within))
    return Tick(number=1, at_s=10.0, utc_s=10.0, observation=observation(10.0, queries=(judged,)), decision=None)


def test_a_promise_that_is_broken_is_told_once_and_so_is_its_recovery(caplog: pytest.LogCaptureFixture) -> None:
    log = SloLog()
    with caplog.at_level(logging.WARNING):
        for within in (1000.0, 980.0, 970.0, 995.0, 999.0):
            log.write(tick(within))
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "SLO of q is broken",
        "SLO of q is kept again",
    ]


def test_the_status_says_how_many_records_kept_the_promise() -> None:
    found = tick(980.0).observation
    assert found is not None
    assert slo_sentence(found) == "98 % of 1,000 records within 30 s, 99 % promised (broken)"
    assert slo_sentence(observation(10.0)) is None


@pytest.mark.parametrize(("p95_s", "age_s", "expected"), [(10, 90, True), (40, 0, False), (None, 40, False)])
def test_time_within_the_slo_follows_the_delay_or_the_age_of_what_waits(
    p95_s: float | None, age_s: float, expected: bool
) -> None:
    source = Source(name="log", backlog_age_s=Reading(age_s, 10.0))
    found = replace(query(), slo=SLO, delay=None if p95_s is None else delay(10.0, p95_s), sources=(source,))
    assert found.is_within_slo is expected


def test_an_unknown_delay_is_neither_within_the_slo_nor_outside_of_it() -> None:
    assert replace(query(), slo=SLO, sources=(Source(name="log"),)).is_within_slo is None
