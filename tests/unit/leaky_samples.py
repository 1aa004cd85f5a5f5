"""A run in which every text from outside holds a secret, or what would steer a terminal."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from elastream.attachment import Attachment
from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation
from elastream.core.protocols import Journal
from elastream.core.signals import Signal
from elastream.core.slo import OnTime, Slo
from elastream.core.tick import Tick
from elastream.journal.format import describe
from elastream.journal.writer import Recorder
from elastream.loop.clock import SystemClock, VirtualClock
from elastream.loop.controller import Controller
from elastream.loop.planner import Planner
from elastream.loop.slo_log import SloLog
from tests.secret_samples import HARMLESS, HOSTILE, OWN_SAMPLES, SAMPLES
from tests.unit.journal_samples import UTC_S, observation
from tests.unit.live_samples import run

MARKUP = ("[red]late[/red] [link=http://evil.example]here[/link] [/] [bold", ":warning: [@click=app.quit]x[/]")
TEXTS = (*(sample.text for sample in (*SAMPLES, *OWN_SAMPLES)), *HOSTILE, *MARKUP, HARMLESS[0])
SECRETS = tuple(sample.secret for sample in (*SAMPLES, *OWN_SAMPLES))
TICK_S = 5.0
# Three looks have the same text: one that goes well, one on which the policy fails, one that fails.
LOOKS = 3 * len(TEXTS)


def text_at(at_s: float) -> tuple[str, int]:
    look = round(at_s / TICK_S)
    return TEXTS[look // 3 % len(TEXTS)], look % 3


@dataclass(frozen=True, kw_only=True)
class Talkative:
    """A policy that says and remembers whatever it comes across."""

    api_token: str = SAMPLES[0].text
    remark: str = SAMPLES[1].text
    interval_s: float = 0.0
    needs: ClassVar[tuple[Need, ...]] = ()

    def start(self) -> dict[str, Any]:
        return {}

    def learn(self, memory: dict[str, Any], now: Observation, last: Decision | None) -> dict[str, Any]:
        text, _ = text_at(now.at_s)
        return {text: [text]}

    def decide(self, now: Observation, known: Knowledge, memory: dict[str, Any]) -> Decision:
        text, kind = text_at(now.at_s)
        if kind == 1:
            raise ValueError(text)
        evidence: Any = {"api_token": text, "pin": {"access_key": 4711}, "detail": [text, {text: text}]}
        return Decision(
            allocation={"executors": 1 + round(now.at_s) % 4}, reason=text, evidence=evidence, note=evidence
        )


class Leaky:
    """A platform of which everybody else has chosen the words. Implements LivePlatform."""

    name = "leaky"
    provides: frozenset[Signal] = frozenset()

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def observe(self) -> Observation:
        at_s = self._clock.now_s()
        text, kind = text_at(at_s)
        if kind == 2:
            raise RuntimeError(text)
        now = observation(at_s)
        query = now.queries[0]
        late = replace(
            query,
            name=text,
            error=text if kind else None,
            sources=(replace(query.sources[0], problem=text, arrived=None),),
            slo=Slo(delay_s=1.0),
            on_time=OnTime(records=100.0, within=100.0 * (round(at_s / TICK_S) % 2)),
        )
        return replace(now, queries=(late,))

    def apply(self, decision: Decision) -> None:
        raise OSError(text_at(self._clock.now_s())[0])

    def has_ended(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing was added."""


def record(folder: Path, *journals: Journal) -> list[str]:
    """Run the loop over all texts into a journal of several files; returns what its status was after each tick."""
    clock = VirtualClock(utc_s=UTC_S)
    platform = Leaky(clock)
    planner = Planner(Talkative(), {}, platform.provides)
    header = describe(
        planner, platform, policy="talkative", tick_s=TICK_S, max_age_s=15, utc_s=UTC_S, notes=list(TEXTS)
    )
    controller = Controller(platform=platform, planner=planner, clock=clock, tick_s=TICK_S)
    handle = Attachment(controller, SystemClock(), "talkative", platform, lambda handle: None)
    said = []
    with Recorder(folder, planner=planner, header=header, max_bytes=60_000, keep=99) as recorder:
        controller.journals = [recorder, SloLog(), *journals]
        for number in range(LOOKS):
            clock.sleep_until(TICK_S * number)
            controller.tick()
            said.append(str(handle.status()))
    return said


def hostile_ticks() -> Iterator[Tick]:
    """Ticks whose texts nobody has made fit on the way."""
    for tick, text in zip(run(looks=99), (*MARKUP, *HOSTILE), strict=False):
        assert tick.observation is not None
        yield replace(tick, decision=Decision.keep(tick.observation, text), troubles=(text,))
