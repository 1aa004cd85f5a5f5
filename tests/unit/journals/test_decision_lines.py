"""Decisions as lines of JSON."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elastream.core.bottleneck import Bottleneck
from elastream.core.decision import Adjustment, Decision
from elastream.core.observation import Observation
from elastream.core.tick import Tick
from elastream.journal.decision_lines import DecisionLines, message_line
from tests.secret_samples import SAMPLES, Sample
from tests.unit.journal_samples import header, planner, tick
from tests.unit.page_samples import calm, grown, kept, look, query

DOCS = Path(__file__).parents[3] / "docs" / "logs.md"


def told(*ticks: Tick) -> list[dict[str, Any]]:
    lines: list[str] = []
    log = DecisionLines(lines.append)
    log.begin_run(replace(header(planner()), name="shop"))
    for one in ticks:
        log.write(one)
    return [json.loads(line) for line in lines]


def test_a_change_is_told_with_what_it_was_made_of() -> None:
    note = Adjustment(guard="step_limit", pool="executors", before=9, after=5, reason="one step is at most +3")
    now = look(15.0, query(15.0, backlog=700.0, p95_s=12.0))
    limit = Bottleneck(kind="blocked-sink", query="id-clicks", sentence="the sink is slow")
    one = tick(3, now, Decision(allocation={"executors": 5}, reason="more arrives", adjustments=(note,)))

    (line,) = told(replace(one, bottlenecks=(limit,)))

    assert line["timestamp"].endswith("Z")
    assert (line["severity_text"], line["severity_number"]) == ("INFO", 9)
    assert line["body"] == "executors 2 -> 5: more arrives; step_limit: one step is at most +3"
    assert line["resource"]["service.name"] == "shop"
    found = line["attributes"]
    assert found["elastream.decision.action"] == "grow"
    assert [found[f"elastream.executors.{name}"] for name in ("proposed", "wanted", "wanted_before", "ready")] == [
        9, 5, 2, 2,
    ]  # fmt: skip
    assert found["elastream.guards"][0]["name"] == "step_limit"
    assert found["elastream.limits"] == [{"query": "id-clicks", "kind": "blocked-sink", "reason": "the sink is slow"}]
    (told_of,) = found["elastream.queries"]
    assert (told_of["name"], told_of["backlog_records"], told_of["within_slo"]) == ("clicks", 700, False)


def made(number: int, made_s: float | None) -> Tick:
    return replace(kept(number, look(5.0 * number)), decision=replace(Decision.keep(look(5.0), "x"), made_s=made_s))


def test_a_decision_has_a_line_when_it_is_made_and_none_when_it_is_stated_again() -> None:
    lines = told(made(1, 5.0), made(2, 5.0), made(3, 15.0), made(4, 15.0))
    assert [line["attributes"]["elastream.tick"] for line in lines] == [1, 3]


def test_a_look_that_fails_is_a_warning_with_what_is_not_known_as_null() -> None:
    held = Decision.hold(look(5.0), "no look at spark: gone")
    first, second = told(calm([1])[0], tick(2, None, held, "no look at spark: gone"))

    assert first["severity_text"] == "INFO"
    assert second["severity_text"] == "WARN"
    assert second["attributes"]["elastream.executors.ready"] is None
    assert second["attributes"]["elastream.troubles"] == ["no look at spark: gone"]
    assert second["attributes"].keys() == first["attributes"].keys()


def test_its_keys_are_those_that_the_page_about_them_lists() -> None:
    text = DOCS.read_text(encoding="utf-8")
    keys = set(re.findall(r"`([\w.]+)`", "".join(re.findall(r"^\| ([^|]*) \|", text, re.M))))
    (line,) = told(grown(1))

    outer = {name for name in line if name not in ("resource", "attributes")}
    assert keys == outer | {f"resource.{name}" for name in line["resource"]} | line["attributes"].keys()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.text[:30])
def test_no_secret_is_told(sample: Sample) -> None:
    now: Observation = look(5.0, query(5.0, name=sample.text))
    line = json.dumps(told(tick(1, now, Decision.hold(now, sample.text), sample.text)))

    assert sample.secret not in line
    assert sample.secret not in message_line(sample.text, 0.0)


def test_a_line_is_a_line_whatever_a_query_is_called() -> None:
    now = look(5.0, query(5.0, name='x"\n\x1b[2J{"a":1}\u2028é'))
    lines: list[str] = []
    DecisionLines(lines.append).write(kept(1, now))

    assert lines[0].isascii()
    assert lines[0].isprintable()
    assert json.loads(lines[0])["attributes"]["elastream.queries"][0]["name"].startswith('x"')
