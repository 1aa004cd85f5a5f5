"""Every number of a run against the answer that its documentation gives for a run drawn up by hand."""

import csv
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from elastream.core.decision import Decision
from elastream.core.observation import Delay, Observation, Pool, Query, Reading, Source, Worker
from elastream.core.slo import OnTime, Slo
from elastream.estimators.delay import Stretch, quantiles
from elastream.evaluation.curve import StepCurve
from elastream.evaluation.elasticity import measure_elasticity
from elastream.evaluation.predictions import PredictionLog, judge_predictions
from elastream.evaluation.series import RunSeries
from elastream.evaluation.settling import Settling, measure_settling
from elastream.evaluation.summary import summarise
from elastream.experiments.store.tables import NUMBERS
from tests.unit.journal_samples import TOPOLOGY, UTC_S, tick

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
ANSWERS = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \| ?([^|]*?) ?\|$", PAGE, re.MULTILINE))
CURVES = [list(csv.DictReader(text.splitlines())) for text in re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)]
RUN, SETTLING, PREDICTED = CURVES


def column(rows: list[dict[str, str]], name: str) -> list[float | None]:
    return [float(row[name]) if row[name] else None for row in rows]


def times(rows: list[dict[str, str]]) -> list[float]:
    return [float(row["t"]) for row in rows]


def look(row: dict[str, str]) -> Observation:
    at_s = float(row["t"])
    worker = Worker(
        id="1",
        state="ready",
        since_s=0.0,
        cpu=Reading(float(row["cpu"]), at_s),
        memory_bytes=Reading(float(row["memory"]), at_s),
    )
    pool = Pool(
        name="executors",
        slots_per_worker=2,
        min_workers=1,
        max_workers=20,
        wanted=int(row["wanted"]),
        requested=int(row["requested"]),
        ready=int(row["ready"]),
        leaving=int(row["leaving"]),
        workers=(worker,),
        busy_slot_s=Reading(float(row["busy_slot_s"]), at_s),
    )
    source = Source(
        name="kafka",
        arrived=Reading(float(row["arrived"]), at_s),
        committed=Reading(float(row["committed"]), at_s),
        backlog_age_s=Reading(float(row["age"]), at_s) if row["age"] else None,
    )
    delay = None
    if row["p50"]:
        p50_s, p95_s = float(row["p50"]), float(row["p95"])
        delay = Delay(at_s=at_s, window_s=10, records=100, p50_s=p50_s, p95_s=p95_s, p99_s=p95_s, max_s=p95_s)
    query = Query(
        id="q",
        name="clicks",
        phase="running",
        topology=TOPOLOGY,
        sources=(source,),
        delay=delay,
        slo=Slo(delay_s=10.0, share=0.9),
        on_time=OnTime(records=3000, within=2700),
    )
    return Observation(at_s=at_s, utc_s=UTC_S + at_s, application="app", pools=(pool,), queries=(query,))


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    """Everything that the page tells, computed."""
    series = RunSeries(tick_s=10.0)
    for number, row in enumerate(RUN):
        now = look(row)
        size = int(row["decided"])
        decision = Decision(allocation={"executors": size}, reason="because") if size != int(row["wanted"]) else None
        series.update(tick(number, now, decision or Decision.keep(now, "enough")))
    demand, supply = column(RUN, "demand"), series.column("ready")
    log = PredictionLog()
    log.forecasts, log.recoveries = [(0.0, 120.0), (20.0, 210.0)], [(10.0, 15.0)]
    parts = [Stretch(10.0, 0.0, 10.0, 120), Stretch(50.0, 20.0, 20.0, 80)]
    p50, p95, p99, longest = quantiles(parts, (0.5, 0.95, 0.99, 1.0)).tolist()
    return {
        **summarise(series).as_json(),
        **asdict(measure_elasticity(series.at, demand, supply)),
        **asdict(measure_settling(times(SETTLING), column(SETTLING, "demand"), column(SETTLING, "decided"))),
        **asdict(
            judge_predictions(
                log, times(PREDICTED), column(PREDICTED, "arrived_rps"), column(PREDICTED, "backlog"), 20.0
            )
        ),
        "delay_p50_s": p50,
        "delay_p95_s": p95,
        "delay_p99_s": p99,
        "delay_max_s": longest,
    }


@pytest.mark.parametrize("name", [name for name, answer in ANSWERS.items() if answer])
def test_a_number_is_what_its_documentation_says(name: str, found: dict[str, object]) -> None:
    expected = float(eval(ANSWERS[name], {}))
    value = found[name]
    assert isinstance(value, bool | int | float)
    assert float(value) == pytest.approx(expected)


def test_every_number_of_a_stored_run_is_documented() -> None:
    assert ANSWERS.keys() == NUMBERS.keys() - {"took_s"}


def test_what_a_run_does_not_have_is_empty_and_never_zero() -> None:
    series = RunSeries(tick_s=10.0)
    for number in range(4):
        series.update(tick(number, None, None, "no look"))
    known = {name for name, value in summarise(series).as_json().items() if value is not None}
    assert known == {"ticks", "actions", "grown", "shrunk", "holds"}
    nothing = [None] * len(series.at)
    for numbers in (
        measure_elasticity(series.at, nothing, nothing),
        measure_settling(series.at, nothing, nothing),
        judge_predictions(PredictionLog(), series.at, nothing, nothing, None),
    ):
        assert set(asdict(numbers).values()) == {None}


def test_what_moves_more_often_than_needed_jitters() -> None:
    at = [0.0, 900.0, 1800.0, 2700.0, 3600.0]
    assert measure_elasticity(at, [2, 2, 2, 3, 3], [2, 3, 2, 3, 3]).jitter_per_h == pytest.approx(2.0)


def test_what_has_not_settled_has_no_settling_time() -> None:
    at = [float(n) for n in range(101)]
    decided: list[float | None] = [2.0 + n % 2 for n in range(101)]
    found = measure_settling(at, [2.0] * 101, decided)
    assert (found.settling_s, found.steps, found.oscillations) == (None, 100, 99)


def test_to_what_changes_all_the_time_nothing_converges() -> None:
    at = [float(n) for n in range(11)]
    assert measure_settling(at, [float(2 + n) for n in range(11)], [3.0] * 11) == Settling()


def test_quantiles_over_time_weigh_by_time_and_not_by_looks() -> None:
    curve = StepCurve([0.0, 1.0, 2.0, 100.0], [9.0, 8.0, 1.0, 7.0])
    assert (curve.quantile(0.5), curve.quantile(0.985), curve.quantile(1.0), curve.largest) == (1.0, 8.0, 9.0, 9.0)
    assert StepCurve([0.0], [1.0]).quantile(0.5) is None


def test_an_unknown_moment_ends_a_stretch() -> None:
    curve = StepCurve([0.0, 10.0, 20.0, 30.0, 40.0], [0.0, None, 0.0, 0.0, 1.0])
    assert curve.longest(lambda value: value == 0) == 20.0
