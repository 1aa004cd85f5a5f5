from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from elastream.core.errors import BadInput, JournalError
from elastream.core.guards.step_limit import StepLimit
from elastream.core.tick import Tick
from elastream.journal.reader import Part, Recording, read
from elastream.journal.replay import replay
from elastream.journal.writer import journal_files
from elastream.policies import Fixed
from tests.unit.journal_samples import ByArrival, header, planner, record, with_arrivals

RATES = [100.0, 100.0, 900.0, 900.0, 900.0, 900.0, None, 400.0, 400.0, 250.0, 250.0, 250.0] * 3
PLANNED = len([rate for rate in RATES if rate is not None])


def of(ticks: Iterable[Tick]) -> Recording:
    return Recording(parts=(Part(name="here", header=header(planner()), snapshot=None, ticks=tuple(ticks)),))


def perturbed(ticks: list[Tick], number: int) -> list[Tick]:
    """The same run in which a little more had arrived at one tick."""
    now = ticks[number - 1].observation
    assert now is not None
    return [replace(tick, observation=with_arrivals(now, 1.1)) if tick.number == number else tick for tick in ticks]


def test_the_same_policy_decides_the_same(tmp_path: Path) -> None:
    record(tmp_path, RATES)

    found = replay(read(tmp_path), policy=ByArrival())

    assert (found.ticks, found.missing, found.differences, found.changed) == (PLANNED, 0, (), False)
    assert found.meaningful_until is None
    assert found.sentence() == f"{PLANNED} ticks planned again, 0 decided otherwise"


def test_a_run_in_which_a_signal_lacked_for_a_while_is_planned_again_as_it_was(tmp_path: Path) -> None:
    ticks = record(tmp_path, RATES, lacks_at=(20.0, 75.0, 80.0))

    held = [tick.at_s for tick in ticks if tick.troubles and tick.observation is not None]
    assert held == [20.0, 75.0, 80.0]
    assert replay(read(tmp_path), policy=ByArrival()).differences == ()
    blind = [replace(tick, observation=tick.observation and replace(tick.observation, lacks={})) for tick in ticks]
    assert replay(of(blind), policy=ByArrival()).differences


def test_each_file_can_be_replayed_alone(tmp_path: Path) -> None:
    record(tmp_path, RATES, max_bytes=4096)
    files = journal_files(tmp_path)
    assert len(files) > 2

    alone = [replay(read(file), policy=ByArrival()) for file in files]

    assert [found.differences for found in alone] == [()] * len(files)
    assert sum(found.ticks for found in alone) == PLANNED
    assert replay(read(tmp_path), policy=ByArrival()).differences == ()


def test_a_run_whose_first_files_are_gone_can_be_replayed(tmp_path: Path) -> None:
    record(tmp_path, RATES, max_bytes=4096, keep=2)

    assert replay(read(tmp_path), policy=ByArrival()).differences == ()


def test_one_other_rate_makes_later_decisions_differ(tmp_path: Path) -> None:
    ticks = record(tmp_path, RATES)

    found = replay(of(perturbed(ticks, 10)), policy=ByArrival())

    assert found.meaningful_until == 10
    assert len(found.differences) > 1
    first = found.differences[0]
    assert (first.recorded, first.at_s) == (ticks[9].decision, ticks[9].at_s)
    assert first.sentence() == (
        "tick 10 at 45.0 s: recorded set executors 5 (arrival 325/s needs 5 workers); "
        "planned set executors 6 (arrival 568/s needs 6 workers)"
    )
    assert "meaningful up to tick 10, the first difference" in found.sentence()


def test_the_recorded_policy_is_built_again_from_the_header(tmp_path: Path) -> None:
    one = planner(Fixed(workers=3))
    ticks = record(tmp_path, RATES, one=one)
    fixed = header(one, policy="fixed")
    recording = Recording(parts=(Part(name="here", header=fixed, snapshot=None, ticks=tuple(ticks)),))

    same, other = replay(recording), replay(recording, policy="fixed", policy_settings={"workers": 5})

    assert (same.differences, same.changed) == ((), False)
    assert (other.meaningful_until, other.changed) == (1, True)


def test_other_guards_can_be_tried(tmp_path: Path) -> None:
    record(tmp_path, RATES)
    recording = read(tmp_path)

    by_settings = replay(recording, policy=ByArrival(), guards={"step_limit": {"up": "1"}})
    built = replay(recording, policy=ByArrival(), guards={"step_limit": StepLimit(up=1)})
    none = replay(recording, policy=ByArrival(), guards={})

    assert by_settings == built
    assert by_settings.changed
    assert by_settings.meaningful_until == none.meaningful_until == 3


def test_another_policy_knows_what_was_seen_before_the_first_file_that_is_left(tmp_path: Path) -> None:
    record(tmp_path, RATES, max_bytes=4096)
    alone = read(journal_files(tmp_path)[1])

    found = replay(alone, policy=ByArrival(rps_per_worker=100.0001))

    # It would hold for want of a rate if it knew nothing.
    assert found.changed
    assert all(difference.planned.kind != "hold" for difference in found.differences)


def test_runs_in_one_folder_are_planned_apart(tmp_path: Path) -> None:
    record(tmp_path, RATES)
    record(tmp_path, RATES)

    found = replay(read(tmp_path), policy=ByArrival())

    assert (found.ticks, found.differences, found.missing) == (2 * PLANNED, (), 0)


def test_missing_ticks_are_counted(tmp_path: Path) -> None:
    ticks = record(tmp_path, RATES)

    found = replay(of(tick for tick in ticks if tick.number not in (4, 5)), policy=ByArrival())

    assert found.missing == 2
    assert "2 ticks are missing" in found.sentence()


def test_a_policy_that_no_registry_knows_must_be_given(tmp_path: Path) -> None:
    record(tmp_path, RATES)

    with pytest.raises(BadInput, match="unknown policy 'by-arrival'"):
        replay(read(tmp_path))


def test_a_snapshot_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    record(tmp_path, RATES)
    part = replace(read(tmp_path).parts[0], snapshot={"known": {}})

    with pytest.raises(JournalError, match=r"journal-000001.jsonl: the snapshot cannot be used: KeyError"):
        replay(Recording(parts=(part,)), policy=ByArrival())
