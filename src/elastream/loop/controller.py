"""One turn of the loop after another, by the clock and not by the batches: an overloaded query finishes few of them."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from elastream.core.control import Control, Intervention
from elastream.core.credible import credible
from elastream.core.decision import Decision
from elastream.core.errors import ObservationFailed
from elastream.core.log import log
from elastream.core.needs import find_caution, find_lack, find_slowness, find_stand_in, require
from elastream.core.observation import Observation
from elastream.core.protocols import Clock, Journal, Platform
from elastream.core.tick import Tick
from elastream.loop.control_desk import ControlDesk, put_under
from elastream.loop.outside_text import sanitize_observation, sanitize_tick
from elastream.loop.planner import Planner, TickPlan

MAX_AGE_TICKS = 3
"""One missed look is bearable; what is older than three ticks says nothing about now."""
# However long ticks take, a change of load is looked at after so long.
_LONGEST_REST_S = 60.0


class Controller:
    """Looks, plans, applies and tells. Whatever fails, the loop goes on and the query never notices."""

    def __init__(
        self,
        *,
        platform: Platform,
        planner: Planner,
        clock: Clock,
        tick_s: float,
        max_age_s: float | None = None,
        journals: Sequence[Journal] = (),
        desk: ControlDesk | None = None,
    ) -> None:
        self.platform = platform
        self.planner = planner
        self.clock = clock
        self.tick_s = tick_s
        self.max_age_s = max_age_s if max_age_s is not None else MAX_AGE_TICKS * tick_s
        self.journals = journals
        self.desk = desk or ControlDesk()
        """Where people ask something of this loop."""
        self.last: Tick | None = None
        """The last tick."""
        self._number = 0
        self._seen_s: float | None = None
        self._told: frozenset[str] = frozenset()
        self._rest_s = tick_s
        self._overrun: str | None = None
        self._stand_in: str | None = None
        self._stopped = False

    def run(self, until_s: float | None = None) -> None:
        """Tick until a time, until stopped, or until the application has ended."""
        due_s = self.clock.now_s()
        while not self._stopped and (until_s is None or due_s <= until_s):
            self.clock.sleep_until(due_s)
            if self._is_over():
                return
            began_s = self.clock.now_s()
            with pause_collector():
                self.tick()
            due_s = self._next_due(due_s, began_s)

    def stop(self) -> None:
        """Make `run` return after the present tick."""
        self._stopped = True

    def _is_over(self) -> bool:
        try:
            return self._stopped or self.platform.has_ended()
        except Exception:
            # Who cannot say has not ended; if nothing else can be said either, the look that follows tells.
            return False

    def _next_due(self, due_s: float, began_s: float) -> float:
        """When to look again. Ticks that were missed, by a suspended machine say, are not made up for.

        A tick that takes longer than the time between two is work that the driver's queries lack. So there is a rest
        after it, of one interval first and then of twice the last, until half of the time is rest.
        """
        now_s = self.clock.now_s()
        took_s = now_s - began_s
        self._overrun = None
        if took_s > self.tick_s:
            self._overrun = (
                f"a tick took {took_s:.1f} s, longer than the {self.tick_s:g} s between two: looks less often"
            )
            rest_s = min(self._rest_s, max(self.tick_s, min(took_s, _LONGEST_REST_S)))
            self._rest_s = 2 * rest_s
            return now_s + rest_s
        self._rest_s = self.tick_s
        return due_s + self.tick_s if due_s + self.tick_s > now_s else now_s + self.tick_s

    def tick(self) -> Tick:
        """Look once, decide, apply, tell."""
        control, interventions = self._fetch_control()
        now, planned, troubles = self._look_and_plan(control)
        if self._overrun is not None:
            troubles += (self._overrun,)
        decision = planned.decision if planned is not None else None
        if decision is not None:
            troubles += self._apply(decision)
        self._number += 1
        tick = sanitize_tick(
            Tick(
                number=self._number,
                at_s=self.clock.now_s(),
                utc_s=self.clock.utc_s(),
                observation=now,
                decision=decision,
                troubles=troubles,
                bottlenecks=planned.bottlenecks if planned is not None else (),
                interventions=interventions,
            )
        )
        self.last = tick
        self._tell(tick)
        return tick

    def close(self) -> None:
        """Close the journals."""
        for journal in self.journals:
            try:
                journal.close()
            except Exception as error:
                log.warning("%s", _journal_trouble(journal, error))

    def _fetch_control(self) -> tuple[Control, tuple[Intervention, ...]]:
        control, interventions = self.desk.fetch(self.clock.utc_s())
        for one in interventions:
            log.warning("%s", one.sentence())
        return control, interventions

    def _look_and_plan(self, control: Control) -> tuple[Observation | None, TickPlan | None, tuple[str, ...]]:
        try:
            now = sanitize_observation(credible(self.platform.observe(), self.max_age_s))
            now = put_under(now, control)
            self._check_progress(now)
        except Exception as error:
            trouble = f"no look at {self.platform.name}: {error}"
            held = self._held(trouble)
            return None, None if held is None else TickPlan(held), (trouble,)
        self._seen_s = now.at_s
        planned = self.planner.plan(now)
        needs, declared = self.planner.policy.needs, self.planner.known.declared
        lack = find_lack(needs, declared, now.lacks)
        self._tell_stand_in(find_stand_in(needs, declared, now.lacks))
        return now, planned, (*now.troubles, *planned.troubles, *(() if lack is None else (lack,)))

    def _tell_stand_in(self, now: str | None) -> None:
        """Once per change: to decide by another signal is no failure, but the reader of a decision should know."""
        if _kind(now) != _kind(self._stand_in):
            log.warning("%s", now or "the policy decides by its own signals again")
        self._stand_in = now

    def _held(self, reason: str) -> Decision | None:
        """What was decided last, stated again: an action that was lost repairs itself even while nothing is seen."""
        if self._seen_s is None or self.planner.last is None:
            return None
        return replace(self.planner.last, kind="hold", reason=reason, evidence={}, note={}, adjustments=())

    def _check_progress(self, now: Observation) -> None:
        if self._seen_s is not None and now.at_s <= self._seen_s:
            raise ObservationFailed(
                f"time stands still: this look is of {now.at_s:.1f} s, the last of {self._seen_s:.1f} s"
            )
        behind_s = self.clock.now_s() - now.at_s
        if behind_s > self.max_age_s:
            raise ObservationFailed(f"the look is {behind_s:.1f} s old; at most {self.max_age_s:g} s are allowed")
        if behind_s < -self.max_age_s:
            raise ObservationFailed(f"the look is {-behind_s:.1f} s ahead: the platform has another clock")

    def _apply(self, decision: Decision) -> tuple[str, ...]:
        try:
            self.platform.apply(decision)
        except Exception as error:
            return (f"apply failed, tried again on the next tick: {error}",)
        return ()

    def _tell(self, tick: Tick) -> None:
        troubles = list(tick.troubles)
        for journal in self.journals:
            try:
                journal.write(tick)
            except Exception as error:
                troubles.append(_journal_trouble(journal, error))
        # Once per change of state: a fault that lasts an hour is one line, not two hundred, though its numbers change.
        told = {_kind(trouble): trouble for trouble in troubles}
        for kind, trouble in told.items():
            if kind not in self._told:
                log.warning("%s", trouble)
        if self._told and not told:
            log.warning("all is well again")
        self._told = frozenset(told)


def _kind(sentence: str | None) -> str:
    return "" if sentence is None else re.sub(r"\d+", "0", sentence)


def _journal_trouble(journal: Journal, error: Exception) -> str:
    return f"journal {type(journal).__name__}: {error}"


def checked(
    planner: Planner, platform: Platform, policy_name: str, first: Observation | None = None, tick_s: float = 0.0
) -> str:
    """One line that says in which form a policy runs on a platform; raises CannotRun if it cannot.

    What lacks in a first look, where there is one, is not provided.
    """
    lacks = {} if first is None else first.lacks
    fit = require(policy_name, platform.name, planner.policy.needs, platform.provides - lacks.keys(), lacks)
    policy = planner.policy
    told = filter(None, (fit.sentence(), find_slowness(policy, tick_s), find_caution(policy, platform.provides)))
    return f"{policy_name} on {platform.name}: {'; '.join(told)}"


@contextmanager
def pause_collector() -> Iterator[None]:
    """Collect no garbage in cycles within the block, if anybody collects it at all.

    A look at a thousand executors makes tens of thousands of values and hardly a cycle. The collector counts the values
    all the same, and walks through everything the process holds again and again: some 50 ms each time, in every third
    tick. What is left to collect it finds afterwards.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
