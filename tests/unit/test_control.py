"""What people ask of a loop that runs: it holds from the next look on, stands in the journal, and is planned again."""

from pathlib import Path
from typing import Any

import pytest

from elastream.core.control import Control, HeldSize, Intervention
from elastream.core.errors import BadInput, CannotRun, JournalError
from elastream.core.guards.pause import Pause
from elastream.core.protocols import Guard
from elastream.core.tick import Tick
from elastream.journal.reader import read
from elastream.journal.replay import replay
from elastream.journal.resume import last_control
from elastream.journal.story import sentences
from elastream.journal.writer import Recorder
from elastream.loop.clock import VirtualClock
from elastream.loop.control_desk import MOST_WAITING, ControlDesk
from elastream.loop.controller import Controller
from tests.unit.journal_samples import UTC_S, ByArrival, Rates, header, planner

WHO = "alice at 127.0.0.1"


def ask(asked: str, **more: object) -> Intervention:
    return Intervention(asked=asked, who=WHO, utc_s=UTC_S, **more)  # type: ignore[arg-type]


def run(
    folder: Path, wishes: dict[int, Intervention], *, looks: int = 8, guards: dict[str, Guard[Any]] | None = None
) -> list[Tick]:
    """A run on which 400 records arrive per second, for which four executors are enough; wishes by the tick ahead of
    which they are left."""
    one, clock, desk = planner(guards=guards or {}), VirtualClock(utc_s=UTC_S), ControlDesk()
    with Recorder(folder, planner=one, header=header(one), max_bytes=10**6, keep=9) as recorder:
        loop = Controller(
            platform=Rates(clock, [400.0] * looks), planner=one, clock=clock, tick_s=5, journals=[recorder], desk=desk
        )
        ticks = []
        for number in range(looks):
            clock.sleep_until(5.0 * number)
            if number in wishes:
                desk.ask(wishes[number])
            ticks.append(loop.tick())
    return ticks


def sizes(ticks: list[Tick]) -> list[int]:
    return [sum(tick.decision.allocation.values()) for tick in ticks if tick.decision]


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ({}, [1, 1, 4, 4, 4, 4, 4, 4]),
        ({0: ask("pause"), 4: ask("resume")}, [1, 1, 1, 1, 4, 4, 4, 4]),
        ({0: ask("dry-run")}, [1] * 8),
        ({3: ask("bounds", bounds=(2, 3)), 6: ask("configured bounds")}, [1, 1, 4, 3, 3, 3, 4, 4]),
        ({1: ask("bounds", bounds=(30, 40))}, [1, 30, 30, 30, 30, 30, 30, 30]),
        ({1: ask("size", size=HeldSize(workers=7, until_utc_s=UTC_S + 20))}, [1, 7, 7, 7, 4, 4, 4, 4]),
        (
            {1: ask("size", size=HeldSize(workers=7, until_utc_s=UTC_S + 600)), 3: ask("no size")},
            [1, 7, 7, 4, 4, 4, 4, 4],
        ),
        (
            {1: ask("size", size=HeldSize(workers=7, until_utc_s=UTC_S + 600)), 3: ask("pause"), 5: ask("no size")},
            [1, 7, 7, 7, 7, 7, 7, 7],
        ),
    ],
)
def test_what_is_asked_holds_from_the_next_look_on_and_is_decided_the_same_in_replay(
    tmp_path: Path, wishes: dict[int, Intervention], expected: list[int]
) -> None:
    assert sizes(run(tmp_path, wishes)) == expected

    found = replay(read(tmp_path), policy=ByArrival())
    assert (found.ticks, found.differences, found.changed) == (8, (), False)


def test_who_asked_what_stands_in_the_journal_with_its_time(tmp_path: Path) -> None:
    run(tmp_path, {2: ask("bounds", bounds=(2, 3))})

    recorded = [tick.interventions for tick in read(tmp_path).ticks]
    assert recorded[2] == (ask("bounds", bounds=(2, 3)),)
    assert not any(recorded[:2] + recorded[3:])
    told = [line.text() for line in sentences(read(tmp_path))]
    assert "12:00:00  asked: alice at 127.0.0.1 asks: bounds 2..3." in told


def test_a_run_that_began_as_a_dry_run_can_be_let_go(tmp_path: Path) -> None:
    guards: dict[str, Guard[Any]] = {"pause": Pause(mode="dry-run")}

    assert sizes(run(tmp_path, {4: ask("resume")}, guards=guards)) == [1, 1, 1, 1, 4, 4, 4, 4]
    assert replay(read(tmp_path), policy=ByArrival()).differences == ()


def test_a_decision_says_that_somebody_has_asked_for_its_bounds(tmp_path: Path) -> None:
    ticks = run(tmp_path, {2: ask("bounds", bounds=(1, 2))})

    assert ticks[3].decision is not None
    assert "bounds: executors has between 1 and 2 workers, as somebody has asked: bounds 1..2" in (
        ticks[3].decision.sentence()
    )


def test_a_driver_that_is_started_again_finds_what_stood(tmp_path: Path) -> None:
    run(tmp_path, {1: ask("pause"), 2: ask("bounds", bounds=(2, 3))})

    assert last_control(tmp_path) == Control(mode="paused", bounds=(2, 3))
    assert last_control(tmp_path / "nothing") is None


def test_a_size_whose_time_is_over_does_not_come_back_with_the_driver() -> None:
    desk = ControlDesk(Control(size=HeldSize(workers=9, until_utc_s=UTC_S)))

    assert desk.fetch(UTC_S + 1)[0] == Control()


@pytest.mark.parametrize(
    "wrong",
    [
        ask("bounds"),
        ask("pause", bounds=(1, 2)),
        ask("bounds", bounds=(0, 3)),
        ask("bounds", bounds=(5, 3)),
        ask("bounds", bounds=(1, 10**7)),
        ask("size", size=HeldSize(workers=0, until_utc_s=UTC_S + 60)),
        ask("size", size=HeldSize(workers=3, until_utc_s=UTC_S)),
        ask("size", size=HeldSize(workers=3, until_utc_s=UTC_S + 10**9)),
        ask("size", size=HeldSize(workers=3, until_utc_s=float("nan"))),
    ],
)
def test_what_cannot_be_is_refused_at_the_desk(wrong: Intervention) -> None:
    desk = ControlDesk()
    with pytest.raises(BadInput, match=r"^control: "):
        desk.ask(wrong)
    assert desk.fetch(UTC_S) == (Control(), ())


def test_nobody_fills_the_memory_of_the_driver_with_wishes() -> None:
    desk = ControlDesk()
    for _ in range(MOST_WAITING):
        desk.ask(ask("pause"))
    with pytest.raises(CannotRun, match="wishes wait"):
        desk.ask(ask("resume"))
    assert desk.wanted.mode == "paused"


@pytest.mark.parametrize(
    ("good", "bad"), [('"bounds":[2,3]', '"bounds":[9,3]'), ('"bounds":[2,3]', '"bounds":[2,99999999999]')]
)
def test_a_journal_that_tells_what_nobody_can_have_asked_loses_that_tick(tmp_path: Path, good: str, bad: str) -> None:
    run(tmp_path, {2: ask("bounds", bounds=(2, 3))})
    (file,) = tmp_path.glob("*.jsonl")
    text = file.read_text()
    assert good in text
    file.write_text(text.replace(good, bad))

    with pytest.raises(JournalError, match="a tick that cannot be: control: bounds"):
        list(read(tmp_path).ticks)
