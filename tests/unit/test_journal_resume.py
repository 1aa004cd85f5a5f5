import json
from dataclasses import replace
from pathlib import Path

import pytest

from elastream.core.guards.step_limit import StepLimit
from elastream.core.observation import Observation
from elastream.journal import format as journal_format
from elastream.journal.resume import resume
from elastream.journal.writer import journal_files
from elastream.policies import Fixed
from tests.unit.journal_samples import UTC_S, ByArrival, observation, planner, record

RATES = [100.0, 100.0, 900.0, 900.0, 900.0, None, 400.0, 400.0] * 3
NEXT = observation(5.0 * len(RATES) + 20, 60_000.0, wanted=5)


def test_a_restarted_planner_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    first, second = planner(), planner()
    record(tmp_path, RATES, one=first)

    told = resume(second, tmp_path, NEXT)

    assert told == "goes on from journal-000001.jsonl: 21 recorded looks planned again, the last of 25 s ago"
    assert second.snapshot() == first.snapshot()
    assert second.plan(NEXT) == first.plan(NEXT)


def test_only_the_newest_file_is_planned_again(tmp_path: Path) -> None:
    first, second = planner(), planner()
    record(tmp_path, RATES, one=first, max_bytes=4096)
    files = journal_files(tmp_path)
    assert len(files) > 2

    told = resume(second, tmp_path, NEXT)

    assert told.startswith(f"goes on from {files[-1].name}")
    assert second.snapshot() == first.snapshot()


def test_a_journal_begun_by_a_resumed_planner_starts_with_what_it_knows(tmp_path: Path) -> None:
    record(tmp_path, RATES)
    second, third = planner(), planner()
    resume(second, tmp_path, NEXT)
    record(tmp_path, [500.0, 500.0], one=second)

    # The second run has its own clock, which begins at zero.
    resume(third, tmp_path, observation(20.0))

    assert third.snapshot() == second.snapshot()


def test_without_a_journal_it_starts_anew(tmp_path: Path) -> None:
    one = planner()

    assert resume(one, tmp_path / "none", NEXT).startswith("starts anew: ")
    assert one.last is None


def other_query(now: Observation) -> Observation:
    return replace(now, queries=(replace(now.queries[0], name="views"),))


def other_workers(now: Observation) -> Observation:
    return replace(now, pools=(replace(now.pools[0], slots_per_worker=4),))


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (other_query(NEXT), "the queries are others"),
        (other_workers(NEXT), "the workers are others: executors 4 slots and 1024 MiB, before: executors 2 slots"),
        (replace(NEXT, at_s=1.0), "the clock started again"),
        (replace(NEXT, utc_s=UTC_S + 1e6), "the clock started again"),
    ],
)
def test_what_no_longer_holds_is_not_used(tmp_path: Path, now: Observation, reason: str) -> None:
    record(tmp_path, RATES)
    one = planner()

    told = resume(one, tmp_path, now)

    assert told.startswith(f"starts anew: {reason}")
    assert one.last is None


class Remembers(ByArrival):
    """What it knows holds in other runs too."""

    def carry_over(self, memory: object) -> object:
        return {"carried": memory}


@pytest.mark.parametrize("now", [replace(NEXT, at_s=1.0), replace(NEXT, utc_s=UTC_S + 1e6), replace(NEXT, queries=())])
def test_a_policy_that_can_tell_begins_another_run_of_the_same_job_with_what_it_learned(
    tmp_path: Path, now: Observation
) -> None:
    first, second = planner(Remembers()), planner(Remembers())
    record(tmp_path, RATES, one=first)

    told = resume(second, tmp_path, now)

    assert told.startswith("begins with what by-arrival learned in the run of journal-000001.jsonl: ")
    assert second.snapshot()["memory"] == {"carried": first.snapshot()["memory"]}
    # Decisions and looks of then are none of now.
    assert second.last is None


def test_of_other_queries_or_workers_nothing_is_carried_over(tmp_path: Path) -> None:
    record(tmp_path, RATES, one=planner(Remembers()))
    for now in (other_query(NEXT), other_workers(replace(NEXT, at_s=1.0))):
        assert resume(planner(Remembers()), tmp_path, now).startswith("starts anew: the ")


def test_another_policy_starts_anew(tmp_path: Path) -> None:
    record(tmp_path, RATES)

    assert "the policy is another than by-arrival" in resume(planner(Fixed(workers=2)), tmp_path, NEXT)
    assert "had other settings" in resume(planner(ByArrival(rps_per_worker=50)), tmp_path, NEXT)
    assert "the guards are others" in resume(planner(guards={"step_limit": StepLimit(up=1)}), tmp_path, NEXT)


def test_another_version_starts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(journal_format, "version", lambda name: "0.0.1")
        record(tmp_path, RATES)

    assert "the journal is by Elastream 0.0.1" in resume(planner(), tmp_path, NEXT)


def test_a_snapshot_that_cannot_be_used_starts_anew(tmp_path: Path) -> None:
    record(tmp_path, RATES, max_bytes=4096)
    newest = journal_files(tmp_path)[-1]
    lines = newest.read_text().splitlines()
    lines[1] = json.dumps({"snapshot": {"known": None}})
    newest.write_text("\n".join(lines) + "\n")

    assert "cannot be used: TypeError" in resume(planner(), tmp_path, NEXT)


def test_a_past_that_would_be_decided_otherwise_starts_anew(tmp_path: Path) -> None:
    record(tmp_path, RATES)
    file = journal_files(tmp_path)[0]
    file.write_text(file.read_text().replace('"executors":5', '"executors":6'))

    assert "decided otherwise today" in resume(planner(), tmp_path, NEXT)
