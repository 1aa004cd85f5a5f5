"""The page of a recorded run, as text: what it says, what it leaves out, and that nothing gets into it unescaped."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from elastream.cli import main
from elastream.core.bottleneck import Bottleneck
from elastream.core.decision import Adjustment, Decision
from elastream.core.observation import Reading
from elastream.core.tick import Tick
from elastream.evaluation.rates import Total
from elastream.evaluation.recorded import read_series
from elastream.evaluation.summary import summarise
from elastream.journal.format import Header
from elastream.journal.reader import Recording, read
from elastream.render.html import clipped, element, text
from elastream.render.marks import AxisMark, clock, delays, numbers, whole_numbers
from elastream.render.page.feed import KEEP_LINES
from elastream.render.page.page import page, write_page
from elastream.render.thin import segments
from elastream.render.units import compact, duration, seconds
from tests.unit.journal_samples import UTC_S, record, tick
from tests.unit.page_samples import calm, grown, kept, look, query, recording

VOID = {"meta", "input"}
HOSTILE = "</script></style><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='alert(1) &amp; ]]>"


class Elements(HTMLParser):
    """The elements of a page with their attributes; fails where one is not closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.texts.append((self._open[-1], data))

    def of(self, tag: str, class_: str = "") -> list[dict[str, str | None]]:
        return (
            [found for name, found in self.found if name == tag and class_ in (found.get("class") or "").split(" ")]
            if class_
            else [found for name, found in self.found if name == tag]
        )

    def text(self) -> str:
        return "\n".join(text for tag, text in self.texts if tag not in ("script", "style"))


def headed(one: Recording, **changes: object) -> Recording:
    """The same run with another header."""
    header: Header = replace(one.header, **changes)  # type: ignore[arg-type]
    return Recording(parts=tuple(replace(part, header=header) for part in one.parts), warnings=one.warnings)


def told(source: str) -> dict[str, list[Any]]:
    """What the scripts of a page are told: kind -> its messages."""
    found = re.search(r'<script type="application/json" id="run-data">(.*?)</script>', source)
    assert found is not None
    messages: dict[str, list[Any]] = {}
    for kind, data in json.loads(found[1]):
        messages.setdefault(kind, []).append(data)
    return messages


def lines_of(source: str) -> list[dict[str, Any]]:
    return [line for some in told(source)["lines"] for line in some]


def column(source: str, measure: str) -> list[float | None]:
    """The values of a measure over all moments."""
    messages = told(source)
    at = messages["run"][0]["measures"].index(measure) + 1
    return [row[at] for some in messages["ticks"] for row in some]


def test_a_page_says_what_ran() -> None:
    run = headed(recording(calm(range(1, 20))), application="shop <live>")

    messages = told(page(run, notes=["capacity emulated: 2,000 records/s per slot"]))

    assert (messages["run"][0]["application"], messages["run"][0]["policy"]) == ("shop <live>", "by-arrival")
    assert messages["run"][0]["notes"] == ["capacity emulated: 2,000 records/s per slot"]
    facts = messages["summary"][0]["facts"]
    assert facts["Policy"] == "by-arrival(rps_per_worker=100, interval_s=10)"
    assert facts["Guards"].startswith("step-limit(up=3")
    assert facts["Started"] == "1 January 2026, 12:00:05 UTC"
    assert facts["Duration"] == "1 min 30 s, a look every 5 s"
    assert "Spark 4.2.0" in facts["Versions"]
    assert facts["Executors"] == "1..20, 2 slots each"


def test_a_page_has_the_title_it_is_given() -> None:
    source = page(recording(calm([1, 2])), title="Friday & after")

    assert "<title>Friday &amp; after</title>" in source
    assert told(source)["run"][0]["title"] == "Friday & after"


def test_every_place_that_is_filled_has_a_name_of_its_own() -> None:
    elements = Elements(page(recording(calm(range(1, 9)))))

    ids = [found["id"] for _, found in elements.found if "id" in found]

    assert len(ids) == len(set(ids)) > 20


def test_every_change_is_told_with_its_reason_and_how_long_it_took() -> None:
    ticks = [*calm(range(1, 4)), grown(4), *(kept(n, look(5.0 * n, wanted=5, ready=5)) for n in range(5, 60))]

    (change,) = (line for line in lines_of(page(recording(ticks))) if line["what"] == "change")

    assert change["changes"] == {"executors": [2, 5]}
    assert (change["reason"], change["ready_after_s"]) == ("more arrives", 5.0)


def test_what_guards_did_and_what_failed_stand_with_the_reason() -> None:
    notes = tuple(
        Adjustment(guard=guard, pool="executors", before=before, after=5, reason="at most +3")
        for guard, before in (("step-limit", 9), ("budget", 7))
    )
    decision = Decision(allocation={"executors": 5}, reason="more arrives", adjustments=notes)

    source = page(recording([tick(1, look(5), decision, "more arrives", "apply failed: no room")]))
    line = lines_of(source)[-1]

    assert [(one["guard"], one["asked"], one["after"]) for one in line["held"]] == [
        ("step-limit", [9, 9], 5),
        ("budget", [7, 7], 5),
    ]
    assert line["troubles"] == ["more arrives", "apply failed: no room"]
    assert told(source)["now"][0]["proposed"] == 9


def test_what_is_unknown_is_nothing_and_not_zero() -> None:
    def at(number: int) -> Tick:
        p95_s = None if 10 <= number < 20 else 4.0
        return kept(number, look(5.0 * number, query(5.0 * number, p95_s=p95_s)))

    delays = column(page(recording([at(number) for number in range(1, 30)])), "delay")

    assert delays[7:11] == [4, 4, None, None]
    assert delays.count(None) == 10


def test_a_look_that_failed_is_shaded_and_so_is_time_that_nobody_recorded() -> None:
    blind = [tick(n, None, None, "no look: the driver does not answer") for n in range(5, 8)]
    failed = [kept(8, look(40), "apply failed: no room")]

    series = read_series(
        recording([*calm(range(1, 5)), *blind, *failed, *calm(range(9, 12)), *calm(range(40, 44))])
    ).series

    assert [(span.kind, span.start - UTC_S, span.end - UTC_S) for span in series.spans] == [
        ("blind", 25, 40),
        ("trouble", 40, 45),
        ("absent", 60, 200),
    ]
    assert series.column("ready").count(None) == 4


def test_what_executors_cannot_help_is_shaded_and_told_and_the_delay_to_come_is_known() -> None:
    blocked = Bottleneck(
        kind="blocked-sink", query="id-clicks", sentence="clicks: for 12 s no task runs", useful_slots=0
    )
    stuck = query(10.0, p95_s=None)
    waits = replace(stuck, sources=(replace(stuck.sources[0], backlog_age_s=Reading(42.0, 10.0)),))
    seen = replace(kept(2, look(10.0, waits)), bottlenecks=(blocked,))

    source = page(recording([*calm([1]), seen]))

    (span,) = told(source)["spans"][0]
    assert span[2:] == ["limited", "clicks: for 12 s no task runs"]
    now = told(source)["now"][0]
    assert (now["state"], now["limits"], now["age"]) == ("limited", ["clicks: for 12 s no task runs"], 42.0)
    assert now["queries"][0]["limit"]["kind"] == "blocked-sink"
    assert lines_of(source)[-1]["limits"] == ["clicks: for 12 s no task runs"]
    assert column(source, "to-come") == [None, 42.0]


def test_a_spike_survives_however_long_the_run() -> None:
    values: list[float | None] = [1.0] * 100_000
    values[70_001] = 500.0

    (line,) = segments(range(100_000), values, 0, 99_999, 1000)

    assert len(line) <= 2000
    assert (70_001, 500.0) in line


def test_a_gap_as_wide_as_a_column_survives_as_well() -> None:
    values = [None if 50_000 <= i < 50_300 else 1.0 for i in range(100_000)]

    assert len(segments(range(100_000), values, 0, 99_999, 1000)) == 2


def test_a_very_long_run_with_very_long_reasons_stays_small_enough_to_be_sent() -> None:
    def at(number: int) -> Tick:
        now = look(5.0 * number, *(query(5.0 * number, name=f"q{i}", backlog=number % 97) for i in range(4)))
        return tick(number, now, Decision(allocation={"executors": 2 + number % 3}, reason=f"{HOSTILE}'&<é" * 40))

    source = page(recording(at(number) for number in range(1, 2500)), title="x" * 10_000, notes=["&" * 5000] * 99)

    assert len(source.encode()) < 4_000_000
    assert len(lines_of(source)) <= KEEP_LINES
    Elements(source)


def test_nothing_from_a_journal_becomes_markup() -> None:
    now = look(5.0, *(query(5.0, name=f"{HOSTILE}{i}") for i in range(2)))
    now = replace(now, application=HOSTILE, pools=tuple(replace(pool, name=HOSTILE) for pool in now.pools))
    note = Adjustment(guard=HOSTILE, pool=HOSTILE, before=9, after=4, reason=HOSTILE)
    decision = Decision(allocation={HOSTILE: 4}, reason=HOSTILE, adjustments=(note,))
    run = headed(
        recording([tick(1, now, decision, HOSTILE), tick(2, None, decision, HOSTILE)]),
        **dict.fromkeys(("application", "policy", "platform", "spark", "elastream"), HOSTILE),
        policy_settings={HOSTILE: HOSTILE},
        guards={HOSTILE: {HOSTILE: HOSTILE}},
    )
    harmless = page(recording([tick(1, look(5.0, query(5.0), query(5.0, name="b")), None, "x"), *calm([2])]))

    source = page(replace(run, warnings=(HOSTILE,)), title=HOSTILE, notes=[HOSTILE])
    elements = Elements(source)

    assert len(elements.of("script")) == len(Elements(harmless).of("script"))
    assert not elements.of("img")
    assert not [found for _, found in elements.found if any(name.startswith("on") for name in found)]
    assert "<" not in re.findall(r'id="run-data">(.*?)</script>', source)[0]
    assert json.dumps(told(source)).count("<img src=x onerror=alert(1)>") > 10


def test_a_page_may_load_nothing_and_run_only_its_own_script() -> None:
    source = page(recording(calm([1, 2])))
    elements = Elements(source)
    policy = next(found["content"] for found in elements.of("meta") if "http-equiv" in found) or ""

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert re.search(r"script-src( 'sha256-[\w+/]{43}=')+", policy)
    assert not [found for _, found in elements.found if found.keys() & {"src", "style", "srcset", "href"}]
    # The address of whoever wrote the charts, and the name of a kind of element, are asked for by nobody.
    assert set(re.findall(r"\w+://[\w./]*", source)) == {
        "https://github.com/leeoniya/uPlot",
        "http://www.w3.org/2000/svg",
    }
    assert "url(" not in source


def test_text_that_is_no_text_is_marked_and_can_be_written(tmp_path: Path) -> None:
    assert text("a\ud800b\x00c\u202ed\n") == "a\ufffdb\ufffdc\ufffdd\n"
    write_page(recording([grown(1, reason="half \ud83d a pair")]), tmp_path / "page.html")
    assert "half \\ud83d a pair" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_an_element_escapes_its_children_and_its_attributes() -> None:
    assert element("p", "<b>", element("i", "&"), class_='"') == '<p class="&quot;">&lt;b&gt;<i>&amp;</i></p>'


def test_text_is_clipped_by_the_size_of_its_markup() -> None:
    assert clipped("short", 5) == "short"
    assert clipped("&" * 100, 53) == "&" * 10 + "…"


def test_a_run_without_a_tick_says_so() -> None:
    assert "nothing was recorded" in page(recording([]))
    assert "ticks" not in told(page(recording([])))


@pytest.mark.parametrize(
    "ticks",
    [calm([1]), [tick(1, None, None, "no look")], [grown(1)], [kept(1, replace(look(5), queries=(), pools=()))]],
)
def test_a_single_tick_makes_a_page(ticks: list[Tick]) -> None:
    Elements(page(recording(ticks)))


def test_numbers_that_are_none_are_unknown() -> None:
    bad = replace(query(10.0), sources=(replace(query(10.0).sources[0], arrived=Reading(float("nan"), 10.0)),))

    Elements(page(recording([*calm([1]), kept(2, look(10.0, bad)), *calm([3])])))


def test_several_queries_are_summed_and_a_few_have_lines_of_their_own() -> None:
    def run(count: int) -> Recording:
        return recording(
            kept(n, look(5.0 * n, *(query(5.0 * n, name=f"q{i}", p95_s=2.0 + i) for i in range(count))))
            for n in range(1, 9)
        )

    series = read_series(run(3)).series

    assert (series.column("arrived")[-1], series.column("backlog")[-1], series.column("delay")[-1]) == (300, 150, 4)
    rows = [told(page(run(count)))["ticks"][0][-1] for count in (1, 3, 5)]
    assert [isinstance(row[-1], dict) for row in rows] == [False, True, False]
    assert [name for name, *_ in rows[1][-1].values()] == ["q0", "q1", "q2"]


def test_a_run_that_came_back_goes_on_on_the_same_axis_and_one_of_the_same_time_is_left_out() -> None:
    first, later, again = (recording(calm(range(1, 9)), start_s=start_s).parts[0] for start_s in (0, 1, 2))
    later = replace(later, ticks=calm(range(40, 50)))

    came_back = read_series(Recording(parts=(first, later))).series
    assert (came_back.ticks, [span.kind for span in came_back.spans]) == (18, ["absent"])

    both = Recording(parts=(first, again))
    assert read_series(both).series.ticks == 8
    assert "not shown: 1 older in the same folder" in page(both)


def test_the_summary_counts_workers_while_they_cannot_be_seen_but_not_while_nobody_looked() -> None:
    blind = [tick(n, None, None, "no look") for n in range(4, 6)]
    ticks = [*(kept(n, look(5.0 * n, ready=4, leaving=2)) for n in range(1, 4)), *blind, *calm([6]), *calm([100, 101])]

    found = summarise(read_series(recording(ticks)).series)

    # 25 s of four workers and two that leave, then 5 s of two before nobody looked and 5 s of two after.
    assert found.worker_hours_paid == pytest.approx((25 * 6 + 5 * 2 + 5 * 2) / 3600)
    assert found.worker_hours_ready == pytest.approx((25 * 4 + 5 * 2 + 5 * 2) / 3600)
    assert found.mean_workers == pytest.approx(120 / 35)
    assert (found.max_workers, found.time_within_slo, found.max_delay_p95_s) == (4, 1.0, 4.0)


def test_commits_in_jumps_have_an_even_rate() -> None:
    total = Total()
    rates = [total.rate(Reading(n // 3 * 300.0, 5.0 * n), 20) for n in range(3, 60)]

    assert set(rates[6:]) == {20.0}


def test_a_total_that_stands_still_slows_down_and_stops() -> None:
    total = Total()
    for n in range(10):
        total.rate(Reading(n * 50.0, 5.0 * n), 20)
    rates = [total.rate(Reading(450.0, at_s), 20) for at_s in (50, 60, 65, 70)]

    assert rates[0] == 10.0
    assert rates[0] > (rates[1] or 0) > (rates[2] or 0) > 0
    assert rates[3] == 0.0


def test_nothing_is_said_across_a_reset() -> None:
    total = Total()
    assert [total.rate(Reading(value, at_s), 20) for value, at_s in ((100, 0), (200, 5), (10, 10), (60, 15))] == [
        None,
        20.0,
        None,
        10.0,
    ]


@pytest.mark.parametrize(
    ("marks", "labels"),
    [
        (numbers(95_600), ["0", "25k", "50k", "75k", "100k"]),
        (numbers(0), ["0", "1"]),
        (numbers(1e-3), ["0", "0.00025", "0.0005", "0.00075", "0.001"]),
        (whole_numbers(1), ["0", "1"]),
        (whole_numbers(9), ["0", "3", "6", "9"]),
        (delays(128), ["0 s", "1 min", "2 min", "3 min"]),
        (delays(0.7), ["0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s"]),
    ],
)
def test_an_axis_ends_in_a_round_number(marks: Sequence[AxisMark], labels: list[str]) -> None:
    assert [mark.label for mark in marks] == labels


def test_the_clock_shows_dates_where_days_begin() -> None:
    assert [mark.label for mark in clock(UTC_S, UTC_S + 86400, 4, virtual=False)] == [
        "12:00",
        "18:00",
        "2 Jan",
        "06:00",
        "12:00",
    ]
    assert [mark.label for mark in clock(0, 7200, 4, virtual=True)] == ["00:00", "00:30", "01:00", "01:30", "02:00"]


def test_numbers_are_spelt_for_people() -> None:
    assert [compact(value) for value in (0, 0.25, 7, 45_600, 999_960, 1.234e6, 5e12)] == [
        "0", "0.25", "7", "45.6k", "1M", "1.23M", "5T",
    ]  # fmt: skip
    assert [seconds(value) for value in (0.8, 12.34, 135, 2052, 11_160)] == [
        "0.8 s",
        "12.3 s",
        "135 s",
        "34.2 min",
        "3.1 h",
    ]
    assert [duration(value) for value in (45, 75, 120, 8400, 7200)] == [
        "45 s",
        "1 min 15 s",
        "2 min",
        "2 h 20 min",
        "2 h",
    ]


def test_the_command_writes_a_page_beside_the_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path, [100.0, 100.0, 100.0, *[900.0] * 10, None, 900.0])

    assert main(["page", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'page.html'}\n"
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page(read(tmp_path))

    out = tmp_path / "other.html"
    assert main(["page", str(tmp_path), "--out", str(out), "--title", "T", "--note", "emulated"]) == 0
    run = told(out.read_text(encoding="utf-8"))["run"][0]
    assert (run["title"], run["notes"]) == ("T", ["emulated"])


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record(tmp_path, [100.0, 100.0])

    assert main(["page", str(tmp_path), "--out", str(tmp_path / "no" / "page.html")]) == 2
    assert main(["page", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert "this is a folder" in capsys.readouterr().err
