from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from elastream.core.bottleneck import Bottleneck
from elastream.core.decision import Adjustment, Decision
from elastream.core.tick import Tick
from elastream.journal.reader import Part, Recording, read
from elastream.journal.story import sentences
from tests.unit.journal_samples import UTC_S, header, observation, planner, record, tick


def of(ticks: Iterable[Tick]) -> Recording:
    return Recording(parts=(Part(name="here", header=header(planner()), snapshot=None, ticks=tuple(ticks)),))


def told(ticks: Iterable[Tick]) -> list[str]:
    """The lines after the one that says how the run began."""
    return [line.text() for line in sentences(of(ticks))][1:]


def kept(number: int, reason: str = "40 of 100 slots busy", workers: int = 4) -> Tick:
    now = observation(5.0 * number, wanted=workers)
    return tick(number, now, Decision.keep(now, reason))


def test_a_recorded_run_reads_as_a_story(tmp_path: Path) -> None:
    rates = [None, 100.0, 100.0, 100.0, *[900.0] * 10, None, None, 900.0]
    record(tmp_path, rates)

    assert [line.text() for line in sentences(read(tmp_path))] == [
        "12:00:00  2026-01-01 a run begins: policy by-arrival on rates, a look every 5 s.",
        "12:00:00  nothing was seen: no look at rates: the driver does not answer.",
        "12:00:05  executors 1 held: the arrival rate is not known. 2 ticks, 5 s.",
        "12:00:15  executors 1 kept: arrival 100/s needs 1 workers. 2 ticks, 5 s.",
        "12:00:25  executors 1 -> 4: arrival 900/s needs 9 workers; "
        "step-limit: one step is at most +3, -any (asked 9). Ready after 10 s.",
        "12:00:30  executors 4 kept: arrival 900/s needs 9 workers; "
        "step-limit: one step is at most +3, -any (asked 9).",
        "12:00:35  executors 4 -> 7: arrival 900/s needs 9 workers; "
        "step-limit: one step is at most +3, -any (asked 9). Ready after 10 s.",
        "12:00:40  executors 7 kept: arrival 900/s needs 9 workers; "
        "step-limit: one step is at most +3, -any (asked 9).",
        "12:00:45  executors 7 -> 9: arrival 900/s needs 9 workers. Ready after 10 s.",
        "12:00:50  executors 9 kept: arrival 900/s needs 9 workers. 4 ticks, 15 s.",
        "12:01:10  nothing was seen, executors 9 held: no look at rates: the driver does not answer. 2 ticks, 5 s.",
        "12:01:20  executors 9 -> 5: arrival 300/s needs 5 workers. Not seen to be ready.",
    ]


def test_ticks_that_differ_only_in_their_numbers_are_one_line() -> None:
    assert told([kept(1, "40 of 100 slots busy"), kept(2, "41.5 of 1,000 slots busy"), kept(3, "all is well")]) == [
        "12:00:05  executors 4 kept: 40 of 100 slots busy. 2 ticks, 5 s.",
        "12:00:15  executors 4 kept: all is well.",
    ]


def test_a_change_tells_how_long_it_took_and_what_came_meanwhile_follows_it() -> None:
    before = observation(5, wanted=4)
    grow = Decision(allocation={"executors": 7}, reason="more arrives.")
    waiting = [observation(5.0 * n, wanted=7, ready=4 if n < 16 else 7) for n in range(2, 18)]

    assert told([tick(1, before, grow), *(tick(int(now.at_s / 5), now, grow) for now in waiting)]) == [
        "12:00:05  executors 4 -> 7: more arrives. Ready after 1 min 15 s.",
        "12:00:10  executors 7 kept: more arrives. 16 ticks, 1 min 15 s.",
    ]


def test_a_change_that_is_never_done_says_so() -> None:
    grow = Decision(allocation={"executors": 7}, reason="more arrives")
    ticks = [tick(1, observation(5, wanted=4), grow), tick(2, observation(10, wanted=7, ready=5), grow)]

    assert told(ticks)[0] == "12:00:05  executors 4 -> 7: more arrives. Not seen to be ready."


def test_a_change_that_cannot_be_applied_is_told_once_with_what_failed() -> None:
    grow = Decision(allocation={"executors": 7}, reason="more arrives")
    ticks = [tick(n, observation(5.0 * n, wanted=4), grow, f"apply failed: error {n}") for n in range(1, 5)]

    (line,) = list(sentences(of(ticks)))[1:]

    assert line.text() == (
        "12:00:05  executors 4 -> 7: more arrives. Failed: apply failed: error 1. 4 ticks, 15 s. Not seen to be ready."
    )
    assert (line.what, line.changes, line.troubles) == ("change", {"executors": (4, 7)}, ("apply failed: error 1",))


def test_what_a_guard_held_back_is_told_with_what_was_asked() -> None:
    def cooled(number: int, asked: int) -> Tick:
        now = observation(5.0 * number, wanted=4)
        note = Adjustment(
            guard="cool-down", pool="executors", before=asked, after=4, reason=f"{60 - 5 * number} s left of 60 s"
        )
        decision = Decision(allocation={"executors": 4}, reason=f"needs {asked}", adjustments=(note,))
        return tick(number, now, decision)

    ticks = [cooled(1, 9), cooled(2, 7), cooled(3, 11), kept(4)]
    (_, line, _) = sentences(of(ticks))

    assert line.text() == (
        "12:00:05  executors 4 kept: needs 9; cool-down: 55 s left of 60 s (asked 7 to 11). 3 ticks, 10 s."
    )
    assert (line.held[0].asked, line.held[0].after) == ((7, 11), 4)


def test_pools_are_told_by_name() -> None:
    now = observation(5, wanted=4)
    now = replace(now, pools=(now.pools[0], replace(now.pools[0], name="reducers")))
    notes = tuple(
        Adjustment(guard="scarce-cluster", pool=pool, before=9, after=6, reason="18 asked, 12 exist: shared")
        for pool in ("executors", "reducers")
    )
    decision = Decision(allocation={"executors": 6, "reducers": 6}, reason="more arrives", adjustments=notes)

    assert told([tick(1, now, decision)]) == [
        "12:00:05  executors 4 -> 6, reducers 4 -> 6: more arrives; "
        "scarce-cluster: 18 asked, 12 exist: shared (asked executors 9, reducers 9). Not seen to be ready."
    ]


def test_a_failing_policy_is_told_once() -> None:
    now = observation(5, wanted=4)
    trouble = "planning failed: ValueError: no"

    assert told([tick(1, now, Decision.hold(now, trouble), trouble)]) == [f"12:00:05  executors 4 held: {trouble}."]


def test_each_run_begins_with_a_line_of_its_own() -> None:
    parts = tuple(
        Part(name="x", header=header(planner(), utc_s=UTC_S + start), snapshot=None, ticks=(kept(1), kept(2)))
        for start in (0.0, 60.0)
    )

    assert [line.what for line in sentences(Recording(parts=parts))] == ["start", "keep", "start", "keep"]


def test_a_long_calm_is_told_in_hours() -> None:
    assert told([kept(1), kept(1 + 90 * 12)]) == [
        "12:00:05  executors 4 kept: 40 of 100 slots busy. 2 ticks, 1 h 30 min."
    ]


def test_what_executors_cannot_help_is_a_line_of_its_own_while_it_holds() -> None:
    blocked = Bottleneck(kind="blocked-sink", query="q", sentence="q: for 12 s no task runs", useful_slots=0)
    ticks = [kept(1), replace(kept(2), bottlenecks=(blocked,)), replace(kept(3), bottlenecks=(blocked,)), kept(4)]
    assert told(ticks) == [
        "12:00:05  executors 4 kept: 40 of 100 slots busy.",
        "12:00:10  executors 4 kept: 40 of 100 slots busy. Limited: q: for 12 s no task runs. 2 ticks, 5 s.",
        "12:00:20  executors 4 kept: 40 of 100 slots busy.",
    ]


def test_a_bottleneck_that_a_guard_acted_on_is_told_once() -> None:
    now = observation(5.0, wanted=4)
    blocked = Bottleneck(kind="blocked-sink", query="q", sentence="q: for 12 s no task runs", useful_slots=0)
    held = Decision(allocation={"executors": 9}, reason="more").adjusted(
        "bottleneck", {"executors": 4}, blocked.sentence
    )
    (line,) = told([replace(tick(1, now, held), bottlenecks=(blocked,))])
    assert line.count("no task runs") == 1
