"""What an operator reads while a launched application runs."""

import json
import logging
import sys
from dataclasses import replace

import pytest

from elastream.core.bottleneck import Bottleneck
from elastream.core.decision import Decision
from elastream.core.guards.pause import Pause
from elastream.core.tick import Tick
from elastream.launch import telling as telling_module
from elastream.launch.telling import Telling, say, take_over_warnings
from elastream.testing import asking, knowing, observation


def tick(decision: Decision, *, number: int = 1, ready: int = 3, wanted: int = 3) -> Tick:
    return Tick(
        number=number,
        at_s=5.0 * number,
        utc_s=5.0 * number,
        observation=observation(5.0 * number, ready=ready, wanted=wanted),
        decision=decision,
    )


def saying(workers: int, reason: str) -> Decision:
    return replace(asking(workers), reason=reason)


def test_a_decision_that_is_only_restated_is_told_once() -> None:
    lines: list[str] = []
    telling = Telling(lines.append)
    telling.begin("it begins")
    telling.write(tick(saying(5, "q: 900/s arrive")))
    telling.write(tick(saying(5, "q: 905/s arrive"), number=2, wanted=5))
    telling.write(tick(saying(5, "q is idle"), number=3, wanted=5, ready=5))
    assert lines == [
        "it begins",
        "00:00:05  executors 3 -> 5: q: 900/s arrive",
        "00:00:15  executors 5 kept: q is idle",
    ]
    assert telling.summary() == "1 change, 3 to 5 executors, 3 looks"


def test_every_change_is_told_even_for_the_same_reason() -> None:
    lines: list[str] = []
    telling = Telling(lines.append)
    telling.write(tick(saying(5, "q: 900/s arrive")))
    telling.write(tick(saying(6, "q: 990/s arrive"), number=2, wanted=5))
    assert [line.partition("  ")[2] for line in lines] == [
        "executors 3 -> 5: q: 900/s arrive",
        "executors 5 -> 6: q: 990/s arrive",
    ]


def test_a_hold_says_what_is_unknown() -> None:
    lines: list[str] = []
    Telling(lines.append).write(tick(Decision.hold(observation(5.0, ready=3, wanted=3), "the backlog is not known")))
    assert lines == ["00:00:05  executors 3 held: the backlog is not known"]


def test_what_executors_cannot_help_is_told_when_it_begins_and_when_it_is_over() -> None:
    lines: list[str] = []
    telling = Telling(lines.append)
    blocked = Bottleneck(kind="blocked-sink", query="q", sentence="q: for 12 s no task runs", useful_slots=0)
    telling.write(tick(saying(3, "enough")))
    telling.write(replace(tick(saying(3, "enough"), number=2), bottlenecks=(blocked,)))
    longer = replace(blocked, sentence="q: for 17 s no task runs")
    telling.write(replace(tick(saying(3, "enough"), number=3), bottlenecks=(longer,)))
    telling.write(tick(saying(3, "enough"), number=4))
    assert lines == [
        "00:00:05  executors 3 kept: enough",
        "00:00:10  executors 3 kept: enough; limited: q: for 12 s no task runs",
        "00:00:20  executors 3 kept: enough",
    ]


def test_a_dry_run_tells_of_every_change_that_it_keeps_back() -> None:
    lines: list[str] = []
    telling = Telling(lines.append)
    for number, asked in enumerate((5, 5, 6), start=1):
        now = observation(5.0 * number, ready=3, wanted=3)
        paused = Pause(mode="dry-run").adjust(saying(asked, "q: 9/s arrive"), now, knowing(), None)
        telling.write(tick(paused, number=number))
    assert [line.rpartition("would have changed ")[2] for line in lines] == ["executors 3 -> 5", "executors 3 -> 6"]
    assert telling.summary() == "0 changes, 3 executors, 3 looks"


def test_quiet_it_counts_and_says_nothing_but_that_it_begins() -> None:
    lines: list[str] = []
    telling = Telling(lines.append, quiet=True)
    telling.begin("it begins")
    telling.write(tick(saying(5, "q: 900/s arrive")))
    assert lines == ["it begins"]
    assert (telling.summary() or "").startswith("1 change,")


def test_before_anything_was_seen_there_is_no_summary() -> None:
    telling = Telling(print)
    telling.write(Tick(number=1, at_s=1.0, utc_s=1.0, observation=None, decision=None))
    assert telling.summary() is None


def test_warnings_of_the_loop_do_not_reach_handlers_of_the_script(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("elastream")
    monkeypatch.setattr(log, "handlers", [])
    monkeypatch.setattr(log, "propagate", True)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    seen: list[logging.LogRecord] = []
    monkeypatch.setattr(logging.getLogger(), "handlers", [_Collecting(seen)])
    take_over_warnings()
    log.warning("no look at %s", "spark")
    assert seen == []
    assert capfd.readouterr().err == "elastream: no look at spark\n"


class _Collecting(logging.Handler):
    def __init__(self, seen: list[logging.LogRecord]) -> None:
        super().__init__()
        self.seen = seen

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(record)


def test_what_else_is_said_is_json_too_where_decisions_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    monkeypatch.setattr(telling_module._Shape, "is_json", True)
    say("it begins\n\x1b[31mtwice", "WARN")

    line = json.loads(capsys.readouterr().err)
    assert (line["event_name"], line["severity_text"]) == ("elastream.message", "WARN")
    assert "\x1b" not in line["body"]
