"""The checks that others run on their policies and guards: a sound one passes, and every way to break them is told."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful
from elastream.core.signals import Signal
from elastream.testing import ContractBroken, FakePlatform, ManualClock, asking, check_guard, check_policy, check_pure
from elastream.testing.guard_contract import check_guard_accounts, check_guard_memory
from elastream.testing.policy_contract import (
    check_policy_absurd,
    check_policy_leaves_arguments,
    check_policy_memory,
    check_policy_needs,
    check_policy_repeats,
    check_policy_run,
    check_policy_shape,
)

asked: list[float] = []


@dataclass(frozen=True, kw_only=True)
class Keeps(Forgetful):
    """Is content."""

    interval_s: float = 30.0
    needs: ClassVar[tuple[Need, ...]] = ()

    def decide(self, now: Observation, known: Knowledge, memory: Any) -> Decision:
        return Decision.keep(now, "it is enough")


@dataclass(frozen=True, kw_only=True)
class Wordless(Keeps):
    def decide(self, now: Observation, known: Knowledge, memory: Any) -> Decision:
        return Decision.keep(now, "")


@dataclass(frozen=True, kw_only=True)
class Fails(Keeps):
    def decide(self, now: Observation, known: Knowledge, memory: Any) -> Decision:
        raise ZeroDivisionError("no records")


@dataclass(frozen=True, kw_only=True)
class Whimsical(Keeps):
    def decide(self, now: Observation, known: Knowledge, memory: Any) -> Decision:
        asked.append(now.at_s)
        return Decision.keep(now, f"asked {len(asked)} times")


@dataclass(frozen=True, kw_only=True)
class Reckless(Keeps):
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.ARRIVED),)


@dataclass(frozen=True, kw_only=True)
class Secretive(Keeps):
    def decide(self, now: Observation, known: Knowledge, memory: Any) -> Decision:
        seen = all(source.arrived for query in now.queries for source in query.sources)
        return Decision.keep(now, "enough") if seen else Decision.hold(now, "nothing arrives")


@dataclass(frozen=True, kw_only=True)
class Hoards:
    """Remembers everything."""

    interval_s: float = 30.0
    needs: ClassVar[tuple[Need, ...]] = ()

    def start(self) -> list[float]:
        return []

    def learn(self, memory: list[float], now: Observation, last: Decision | None) -> list[float]:
        return [*memory, now.at_s]

    def decide(self, now: Observation, known: Knowledge, memory: list[float]) -> Decision:
        return Decision.keep(now, "it is enough")


@dataclass(frozen=True, kw_only=True)
class Scribbles(Hoards):
    def learn(self, memory: list[float], now: Observation, last: Decision | None) -> list[float]:
        memory.append(now.at_s)
        return memory[-3:]

    def decide(self, now: Observation, known: Knowledge, memory: list[float]) -> Decision:
        memory.append(0.0)
        return Decision.keep(now, "it is enough")


@dataclass(frozen=True, kw_only=True)
class Reads(Keeps):
    def decide(self, now: Observation, known: Knowledge, memory: Any) -> Decision:
        return Decision.keep(now, Path("/proc/uptime").read_text(encoding="ascii") if now.at_s > 300 else "soon")


@dataclass(frozen=True, kw_only=True)
class Timeless(Keeps):
    interval_s: Any = "often"


@dataclass(frozen=True, kw_only=True)
class Caps(Forgetful):
    """Lets no more pass."""

    workers: int = 3

    def silences(self, now: Observation, memory: None) -> str | None:
        return None

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        allocation = {pool: min(size, self.workers) for pool, size in decision.allocation.items()}
        return decision.adjusted("caps", allocation, f"no more than {self.workers}")


@dataclass(frozen=True, kw_only=True)
class Silently(Caps):
    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        return Decision(allocation=dict.fromkeys(decision.allocation, 1), reason=decision.reason)


@dataclass(frozen=True, kw_only=True)
class Interrupts(Caps):
    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        return Decision.hold(now, "I say so")


@dataclass(frozen=True, kw_only=True)
class HoardingGuard(Caps):
    def start(self) -> Any:
        return []

    def learn(self, memory: Any, now: Observation, last: Decision | None) -> Any:
        return [*memory, now.at_s]


def test_a_sound_policy_and_a_sound_guard_keep_their_contracts() -> None:
    check_policy(Keeps)
    check_guard(Caps(workers=2))


@pytest.mark.parametrize(
    ("check", "broken", "told"),
    [
        (check_policy_shape, Timeless(), "Timeless: interval_s is 'often'; it must be seconds"),
        (check_policy_run, Wordless(), "Wordless at 0 s: the reason is ''; it must be a sentence"),
        (check_policy_run, Fails(), "Fails at 0 s: planning failed: ZeroDivisionError: no records"),
        (check_policy_absurd, Fails(), "Fails on an absurd look: planning failed: ZeroDivisionError: no records"),
        (check_policy_repeats, Whimsical(), "Whimsical at 0 s: asked twice, it decides two things"),
        (check_policy_needs, Reckless(), "Reckless needs arrived, and without it decides keep: it is enough"),
        (check_policy_needs, Secretive(), "Secretive holds for ever without signals that it does not declare in needs"),
        (check_policy_memory, Hoards(), "Hoards: its memory grows with time, from "),
        (check_policy_memory, Scribbles(), "Scribbles: learn changes its memory; it must return a new one"),
        (check_policy_leaves_arguments, Scribbles(), "Scribbles: decide changes what it was given"),
        (check_guard_accounts, Silently(), "Silently: it changed sizes without a note; use decision.adjusted("),
        (
            check_guard_accounts,
            Interrupts(),
            "Interrupts: adjust changed the policy's own words; use ",
        ),
        (check_guard_memory, HoardingGuard(), "HoardingGuard: its memory grows with time, from "),
    ],
)
def test_what_is_broken_is_told_in_one_line(check: Callable[[Any], None], broken: object, told: str) -> None:
    with pytest.raises(ContractBroken) as caught:
        check(broken)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_what_reads_a_file_is_not_pure() -> None:
    with pytest.raises(ContractBroken, match="Reads is not pure: planning failed: RuntimeError: it did open"):
        check_pure(Reads())


def test_what_other_processes_cannot_find_is_told() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Inside(Keeps):
        pass

    with pytest.raises(ContractBroken, match="must stand at the top of a module"):
        check_pure(Inside())


def test_a_class_that_is_no_policy_is_told_as_everywhere() -> None:
    with pytest.raises(BadInput, match="Caps: it is no policy: it lacks interval_s, needs and decide"):
        check_policy(Caps)  # type: ignore[arg-type]


def test_the_fakes_do_what_they_are_told() -> None:
    clock = ManualClock(utc_s=1000.0)
    platform = FakePlatform(clock, wanted=2)
    assert (clock.advance(5.0), clock.advance(2.5), clock.utc_s()) == (5.0, 7.5, 1007.5)
    platform.apply(asking(4))
    assert (platform.observe().pools[0].ready, platform.observe().at_s) == (4, 7.5)
    assert not platform.has_ended()


def test_it_is_imported_without_a_test_framework() -> None:
    text = "import sys, elastream.testing; print(sorted({'pytest', 'hypothesis', '_pytest'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
