"""`elastream.attach(spark)`: the loop inside somebody else's driver.

A daemon thread looks, decides and changes executors while the application's queries run. Whatever goes wrong in it
stays in it: the queries do not notice, and the user reads one line.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from elastream.config import Settings, leaves, resolve
from elastream.core.errors import JournalError, ObservationFailed, spell_error
from elastream.core.guards.pause import Pause
from elastream.core.log import log
from elastream.core.protocols import Journal, Platform, Policy
from elastream.core.sanitizer import REDACTION, sanitizer, use_pattern
from elastream.core.tick import Tick
from elastream.journal.background_writer import BackgroundRecorder
from elastream.journal.format import describe
from elastream.journal.resume import last_size, resume
from elastream.journal.writer import Recorder
from elastream.loop.clock import SystemClock
from elastream.loop.controller import Controller, checked
from elastream.loop.outside_text import sanitize_observation
from elastream.loop.planner import Planner
from elastream.loop.slo_log import SloLog, slo_sentence
from elastream.policies import policies
from elastream.spark.scale.executors import ShrinkBy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "spark.elastream."
ENABLED = "spark.elastream.enabled"

GUARDS: dict[str, Any] = {
    "guards.start": True,
    "guards.starvation": True,
    "guards.bottleneck": True,
    "guards.partition_ceiling": True,
    "guards.scarce_cluster": True,
    "guards.state_floor": True,
}
"""On in every live run unless switched off: they keep from it what cannot help, starves or would end a query."""

CALMING = "hysteresis"
"""On besides, for policies that have no damping of their own."""

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

    def __init__(self, controller: Controller, clock: SystemClock, policy: str, platform: LivePlatform) -> None:
        self._controller = controller
        self._clock = clock
        self._policy = policy
        self._platform = platform
        self._last: Tick | None = None
        self._state: State = "running"
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._run, name="elastream", daemon=True)

    def status(self) -> Status:
        """What it is doing now, and why."""
        self._notice_end()
        last = self._last
        pool = last.observation.pools[0] if last and last.observation and last.observation.pools else None
        return Status(
            state=self._state,
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

    def is_over(self) -> bool:
        """Whether it no longer looks after its application: that has ended, it was detached, or its loop has failed."""
        self._notice_end()
        return self._state not in ("running", "paused")

    def _notice_end(self) -> None:
        if self._state in ("running", "paused") and self._platform.has_ended():
            self._state = "ended"

    def _why(self) -> str:
        if self._state == "failed":
            return f"the loop has failed: {self._failure}; executors stay as they are, attach again to go on"
        if self._state == "ended":
            return "the application has ended"
        last = self._last
        return last.decision.sentence() if last and last.decision else "nothing was seen yet"

    def pause(self, mode: Literal["paused", "dry-run"] = "paused") -> None:
        """Go on looking and saying what would be done, and change nothing."""
        if self._state == "running":
            self._controller.planner.add_guard("pause", Pause(mode=mode))
            self._state = "paused"

    def resume(self) -> None:
        """Change executors again."""
        if self._state == "paused":
            self._controller.planner.remove_guard("pause")
            self._state = "running"

    def detach(self) -> None:
        """End the loop; executors stay as they are."""
        self._controller.stop()
        self._clock.wake()
        if threading.current_thread() is not self._thread and self._thread.is_alive():
            self._thread.join(timeout=10.0)
        if self._state in ("running", "paused"):
            self._state = "detached"
        _forget(self)

    def write(self, tick: Tick) -> None:
        """Remember the last tick. Implements Journal."""
        self._last = tick
        if self.is_over():
            self._controller.stop()

    def close(self) -> None:
        """Nothing to close. Implements Journal."""

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
            _forget(self)


class LivePlatform(Platform, Protocol):
    """A platform that ends with its application."""

    def has_ended(self) -> bool:
        """Whether the application is over."""

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


_attached: dict[str, Attachment] = {}
_asked: dict[str, dict[str, object]] = {}
"""Application -> what was asked for with the attachment that it has."""
_lock = threading.Lock()


def attach(
    spark: SparkSession,
    *,
    policy: str | None = None,
    executors: tuple[int, int] | None = None,
    slo: float | str | None = None,
    shrink_by: ShrinkBy = "decommission",
    emulated: str | None = None,
    journals: Sequence[Journal] = (),
    **settings: Any,
) -> Attachment | SwitchedOff:
    """Keep the application behind `spark` supplied with the executors it needs, until it ends or is detached.

    `slo` is a delay that 99 of 100 records should keep (`slo__share=0.95` for another share), in seconds or as text
    ('30s'). Other settings are named as in `elastream config`, with two underscores for a dot: `tick_s=5`,
    `guards__cool_down__after_s=120`. A second attach to the same application returns the first one's handle, and says
    so if it asks for something else; where the first one's loop has failed, it begins anew. `emulated` says in words
    that slots only pretend to work (the laboratory's capacity): their processor use then says nothing, busy slots stand
    in, and the words are recorded.
    """
    conf = _elastream_conf(spark)
    # Before anything is told: what is secret in this application is so in its journal, its log and its errors.
    use_pattern(conf.pop(REDACTION, None))
    if conf.pop(ENABLED, "true").strip().lower() == "false":
        log.warning("%s is false: executors stay as they are", ENABLED)
        return SwitchedOff()
    given, decides = _resolved(_flags(policy, executors, slo, settings), conf)
    from elastream.spark.platform import SparkPlatform

    application = str(spark.sparkContext.applicationId)
    asked = {**_paths(given), "shrink_by": shrink_by, "emulated": emulated, "journals": len(journals)}
    found = _attached.get(application)
    if found is not None and found.is_over():
        # Its journal is closed before a new one is begun.
        found.detach()
    with _lock:
        if application in _attached:
            _tell_ignored(_asked[application], asked)
            return _attached[application]
        clock = SystemClock()
        platform = SparkPlatform(
            spark,
            clock,
            bounds=(given.executors.min, given.executors.max),
            initial=_initial(given),
            slo=given.slo.build(),
            shrink_by=shrink_by,
            emulated=emulated is not None,
            asks_kafka=given.kafka.probe,
        )
        try:
            attachment = _built(platform, clock, decides, given, journals, notes=[emulated] if emulated else [])
        except BaseException:
            platform.close()
            raise
        _attached[application], _asked[application] = attachment, asked
    return attachment.start()


def _paths(settings: Settings) -> dict[str, object]:
    """Path -> value of everything that was settled, the policy's and the guards' own settings too."""
    found = dict(leaves(settings))
    found |= {f"policy_settings.{name}": value for name, value in settings.policy_settings.items()}
    found |= {f"guards.{name}": value for name, value in settings.guards.items()}
    return found


def _tell_ignored(first: Mapping[str, object], second: Mapping[str, object]) -> None:
    unlike = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    if unlike:
        hide = sanitizer().setting
        told = ", ".join(
            f"{name} {hide(name, second.get(name))} (has {hide(name, first.get(name))})" for name in unlike
        )
        log.warning("already attached, and goes on as it is; to change %s, detach first", told)


def _resolved(flags: Mapping[str, Any], conf: Mapping[str, str]) -> tuple[Settings, Policy[Any]]:
    """The settings and the policy, before anything is added to the application: a wrong name leaves nothing behind."""
    resolution = resolve(flags, conf, os.environ, None, defaults={**GUARDS, f"guards.{CALMING}": True})
    found = resolution.settings
    decides = policies.build(found.policy, found.policy_settings)
    own = [origin for path, (_, origin) in resolution.origins.items() if path.startswith(f"guards.{CALMING}")]
    # What somebody has asked for stays.
    if getattr(decides, "damped", False) and set(own) == {"default"}:
        others = {name: settings for name, settings in found.guards.items() if name != CALMING}
        found = found.model_copy(update={"guards": others})
    return found, decides


def _initial(settings: Settings) -> int | None:
    """The size to begin with: what was set, else what an earlier run of the same journal ended with."""
    bounds = settings.executors
    if bounds.initial is not None or settings.journal.folder is None:
        return bounds.initial
    last = last_size(settings.journal.folder)
    if last is None:
        return None
    log.info("begins with %d executors, as the run before it ended", last)
    return min(max(last, bounds.min), bounds.max)


def _built(
    platform: LivePlatform,
    clock: SystemClock,
    policy: Policy[Any],
    settings: Settings,
    journals: Sequence[Journal],
    *,
    notes: Sequence[str],
) -> Attachment:
    planner = Planner(policy, settings.build_guards(), platform.provides)
    log.info("%s", checked(planner, platform, settings.policy))
    controller = Controller(
        platform=platform, planner=planner, clock=clock, tick_s=settings.tick_s, max_age_s=settings.max_age_s
    )
    attachment = Attachment(controller, clock, settings.policy, platform)
    recorders = _recorders(platform, planner, controller, settings, clock, notes)
    controller.journals = [*recorders, SloLog(), *journals, attachment]
    return attachment


def _recorders(
    platform: LivePlatform,
    planner: Planner,
    controller: Controller,
    settings: Settings,
    clock: SystemClock,
    notes: Sequence[str],
) -> list[Journal]:
    folder = settings.journal.folder
    if folder is None:
        return []
    log.info("%s", _resumed(planner, folder, platform))
    header = describe(
        planner,
        platform,
        policy=settings.policy,
        tick_s=controller.tick_s,
        max_age_s=controller.max_age_s,
        utc_s=clock.utc_s(),
        spark=getattr(platform, "version", None),
        notes=notes,
    )
    recorder = Recorder(
        folder, planner=planner, header=header, max_bytes=settings.journal.max_bytes, keep=settings.journal.keep
    )
    try:
        return [BackgroundRecorder(recorder).open()]
    except JournalError as wrong:
        log.warning("nothing is recorded: %s", wrong)
        return []


def _resumed(planner: Planner, folder: Path, platform: Platform) -> str:
    if not folder.exists():
        return "a new journal is begun"
    try:
        now = platform.observe()
    except ObservationFailed as wrong:
        return f"starts anew: no look at {platform.name}: {wrong}"
    return resume(planner, folder, sanitize_observation(now))


def _flags(
    policy: str | None, executors: tuple[int, int] | None, slo: float | str | None, settings: Mapping[str, Any]
) -> dict[str, Any]:
    flags = {name.replace("__", "."): value for name, value in settings.items()}
    if policy is not None:
        flags["policy"] = policy
    if executors is not None:
        flags["executors.min"], flags["executors.max"] = executors
    if slo is not None:
        flags["slo.delay"] = slo
    return flags


def _elastream_conf(spark: SparkSession) -> dict[str, str]:
    context = getattr(spark, "_sc", None)
    if context is None:
        return {}
    return {key: value for key, value in context.getConf().getAll() if key.startswith(PREFIX) or key == REDACTION}


def _forget(attachment: Attachment) -> None:
    with _lock:
        for application, found in list(_attached.items()):
            if found is attachment:
                del _attached[application], _asked[application]
