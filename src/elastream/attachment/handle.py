"""The handle of a loop in somebody else's driver: what it is doing, and how to pause and end it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from elastream.core.control import Asked, Intervention
from elastream.core.errors import spell_error
from elastream.core.log import log
from elastream.core.protocols import Platform
from elastream.core.sanitizer import sanitizer
from elastream.loop.clock import SystemClock
from elastream.loop.controller import Controller
from elastream.loop.slo_log import slo_sentence

ENABLED = "spark.elastream.enabled"

State = Literal["running", "paused", "detached", "ended", "failed", "switched off"]
"""ended: with its application. failed: the loop has ended because of an error, and executors stay as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What an attachment is doing."""

    state: State
    policy: str
    ticks: int
    wanted: int | None
    requested: int | None
    ready: int | None
    leaving: int | None
    why: str
    slo: str | None = None
    """How many records kept what was promised, over the run."""
    bottlenecks: tuple[str, ...] = ()
    """What keeps queries back that executors cannot help, with the evidence."""
    delay_to_come_s: float | None = None
    """The age of the oldest record that waits: its delay will be at least that, however unknown delays are now."""
    troubles: tuple[str, ...] = ()


class Attachment:
    """A loop that runs in a daemon thread until it is detached or its application ends."""

    def __init__(
        self,
        controller: Controller,
        clock: SystemClock,
        policy: str,
        platform: LivePlatform,
        forget: Callable[[Attachment], None],
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._policy = policy
        self._platform = platform
        self._forget = forget
        self.page: str | None = None
        """Where its page is served, if it is."""
        self._state: State = "running"
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._run, name="elastream", daemon=True)

    def status(self) -> Status:
        """What it is doing now, and why."""
        self._notice_end()
        last = self._controller.last
        pool = last.observation.pools[0] if last and last.observation and last.observation.pools else None
        return Status(
            state="paused" if self._state == "running" and self._is_paused else self._state,
            policy=self._policy,
            ticks=last.number if last else 0,
            wanted=pool.wanted if pool else None,
            requested=pool.requested if pool else None,
            ready=pool.ready if pool else None,
            leaving=pool.leaving if pool else None,
            why=self._why(),
            slo=slo_sentence(last.observation) if last and last.observation else None,
            bottlenecks=tuple(one.sentence for one in last.bottlenecks) if last else (),
            delay_to_come_s=last.observation.delay_to_come_s if last and last.observation else None,
            troubles=last.troubles if last else (),
        )

    @property
    def _is_paused(self) -> bool:
        """By whomever: the application, or somebody at the page."""
        return self._controller.desk.wanted.mode in ("paused", "dry-run")

    def is_over(self) -> bool:
        """Whether it no longer looks after its application: that has ended, it was detached, or its loop has failed."""
        self._notice_end()
        return self._state != "running"

    def _notice_end(self) -> None:
        if self._state == "running" and self._platform.has_ended():
            self._state = "ended"

    def _why(self) -> str:
        if self._state == "failed":
            return f"the loop has failed: {self._failure}; executors stay as they are, attach again to go on"
        if self._state == "ended":
            return "the application has ended"
        last = self._controller.last
        return last.decision.sentence() if last and last.decision else "nothing was seen yet"

    def pause(self, mode: Literal["paused", "dry-run"] = "paused") -> None:
        """Go on looking and saying what would be done, and change nothing."""
        self._ask("pause" if mode == "paused" else "dry-run")

    def resume(self) -> None:
        """Change executors again."""
        self._ask("resume")

    def _ask(self, what: Asked) -> None:
        if self._state == "running":
            self._controller.desk.ask(Intervention(asked=what, who="the application", utc_s=self._clock.utc_s()))

    def detach(self) -> None:
        """End the loop; executors stay as they are."""
        self._controller.stop()
        self._clock.wake()
        if threading.current_thread() is not self._thread and self._thread.is_alive():
            self._thread.join(timeout=10.0)
        if self._state == "running":
            self._state = "detached"
        self._forget(self)

    def start(self) -> Attachment:
        """Begin."""
        self._thread.start()
        return self

    def _run(self) -> None:
        try:
            self._controller.run()
        except Exception as error:
            # The controller survives what it knows of; for the rest, the queries matter more than we do.
            self._failure = sanitizer().line(spell_error(error))
            self._state = "failed"
            log.warning("the loop has ended, executors stay as they are: %s", self._failure)
        finally:
            self._controller.close()
            try:
                self._platform.close()
            except Exception as error:
                log.warning("what was added to the application is not all gone: %s: %s", type(error).__name__, error)
            self._forget(self)


class LivePlatform(Platform, Protocol):
    """A platform that was added to somebody's application."""

    def close(self) -> None:
        """Take away what was added to the application."""


class SwitchedOff:
    """What `attach` returns where `spark.elastream.enabled` is false: it does nothing, and says so."""

    def status(self) -> Status:
        """Switched off."""
        return Status(
            state="switched off", policy="none", ticks=0, wanted=None, requested=None, ready=None, leaving=None,
            why=f"{ENABLED} is false",
        )  # fmt: skip

    def pause(self) -> None:
        """Nothing to pause."""

    def resume(self) -> None:
        """Nothing to resume."""

    def detach(self) -> None:
        """Nothing to detach."""
