"""What an attachment is made of: its settings, its policy, its loop and its journals."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elastream.attachment.handle import Attachment, LivePlatform
from elastream.config import Resolution, Settings, resolve
from elastream.core.control import Control
from elastream.core.errors import ElastreamError, JournalError
from elastream.core.extras import MissingExtra
from elastream.core.log import log
from elastream.core.observation import Observation
from elastream.core.protocols import Journal, Platform, Policy
from elastream.journal.background_writer import BackgroundRecorder
from elastream.journal.decision_lines import DecisionLines, write_to_stderr
from elastream.journal.format import Header, describe
from elastream.journal.resume import last_control, last_size, resume
from elastream.journal.writer import Recorder
from elastream.loop.clock import SystemClock
from elastream.loop.control_desk import ControlDesk
from elastream.loop.controller import Controller, checked
from elastream.loop.outside_text import sanitize_observation
from elastream.loop.planner import Planner
from elastream.loop.slo_log import SloLog
from elastream.policies import policies
from elastream.render.page.feed import PageFeed

if TYPE_CHECKING:
    from elastream.service.server import PageServer

GUARDS: dict[str, object] = {
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


def resolve_settings(
    flags: Mapping[str, object], conf: Mapping[str, str], config: Path | None = None
) -> tuple[Settings, Policy[Any]]:
    """The settings and the policy, before anything is added to the application: a wrong name leaves nothing behind."""
    usual = {**GUARDS, f"guards.{CALMING}": True}
    resolution = resolve(flags, conf, os.environ, config, defaults=usual, spelt="attach: {}")
    decides = policies.build(resolution.settings.policy, resolution.settings.policy_settings)
    return calm_once(resolution, decides), decides


def calm_once(resolution: Resolution, decides: Policy[Any]) -> Settings:
    """The settings without the guard that calms where the policy does so itself; what somebody has asked for stays."""
    found = resolution.settings
    if not getattr(decides, "damped", False) or not resolution.is_default(f"guards.{CALMING}"):
        return found
    return found.model_copy(update={"guards": {key: one for key, one in found.guards.items() if key != CALMING}})


def find_initial_size(settings: Settings) -> int | None:
    """The size to begin with: what was set, else what an earlier run of the same journal ended with."""
    bounds = settings.executors
    if bounds.initial is not None or settings.journal.folder is None:
        return bounds.initial
    last = last_size(settings.journal.folder)
    if last is None:
        return None
    log.info("begins with %d executors, as the run before it ended", last)
    return min(max(last, bounds.min), bounds.max)


def build(
    platform: LivePlatform,
    clock: SystemClock,
    policy: Policy[Any],
    settings: Settings,
    journals: Sequence[Journal],
    *,
    notes: Sequence[str],
    forget: Callable[[Attachment], None],
) -> Attachment:
    """The loop of an application, before it begins."""
    planner = Planner(policy, settings.build_guards(), platform.provides)
    first = _first_look(platform)
    seen = None if isinstance(first, Exception) else first
    log.info("%s", checked(planner, platform, settings.policy, seen, settings.tick_s))
    desk = ControlDesk(_standing(settings))
    controller = Controller(
        platform=platform, planner=planner, clock=clock, tick_s=settings.tick_s, max_age_s=settings.max_age_s, desk=desk
    )
    attachment = Attachment(controller, clock, settings.policy, platform, forget)
    header = describe(
        planner,
        platform,
        policy=settings.policy,
        tick_s=controller.tick_s,
        max_age_s=controller.max_age_s,
        utc_s=clock.utc_s(),
        spark=getattr(platform, "version", None),
        name=getattr(platform, "application_name", None),
        notes=notes,
    )
    recorders = _recorders(planner, settings, header, platform, first)
    controller.journals = [*recorders, SloLog(), *_with_decisions(journals, settings, header)]
    server = _serve_page(settings, header, seen, desk)
    if server is not None:
        controller.journals.append(server)
        attachment.page = server.address
    return attachment


def _with_decisions(journals: Sequence[Journal], settings: Settings, header: Header) -> list[Journal]:
    """With what tells decisions as JSON, if that is wanted and nobody has brought one along."""
    found = list(journals)
    if settings.log.format == "json" and not any(isinstance(one, DecisionLines) for one in found):
        found.append(DecisionLines(write_to_stderr))
    for one in found:
        if isinstance(one, DecisionLines):
            one.begin_run(header)
    return found


def _recorders(
    planner: Planner, settings: Settings, header: Header, platform: Platform, first: Observation | Exception
) -> list[Journal]:
    folder = settings.journal.folder
    if folder is None:
        return []
    log.info("%s", _resumed(planner, folder, platform.name, first))
    recorder = Recorder(
        folder, planner=planner, header=header, max_bytes=settings.journal.max_bytes, keep=settings.journal.keep
    )
    try:
        return [BackgroundRecorder(recorder).open()]
    except JournalError as wrong:
        log.warning("nothing is recorded: %s", wrong)
        return []


def _standing(settings: Settings) -> Control | None:
    """What people had asked of the run before, which a driver that was started again goes on with.

    Without a token nobody could take it back at the page: then it begins as configured, and says so.
    """
    folder = settings.journal.folder
    past = None if folder is None else last_control(folder)
    if past is None or not (told := past.sentence()):
        return None
    if settings.page.token is None or not settings.page.serve:
        log.warning(
            "the run before was left under control (%s); without page.token this one begins as configured", told
        )
        return None
    log.warning("goes on as the run before was left at its page: %s", told)
    return past


def _serve_page(settings: Settings, header: Header, first: Observation | None, desk: ControlDesk) -> PageServer | None:
    """The server of the page, if one is wanted. Who cannot have one goes on without."""
    if not settings.page.serve:
        return None
    try:
        # Brought by an extra.
        from elastream.service.place import PagePlace
        from elastream.service.server import PageServer

        given = settings.page
        place = PagePlace(host=given.host, port=given.port, names=given.names, token=given.token)
        server = PageServer(PageFeed(), place=place, history=settings.journal.folder, desk=desk)
    except (ElastreamError, ModuleNotFoundError) as wrong:
        reason = MissingExtra("it", "starlette") if isinstance(wrong, ModuleNotFoundError) else wrong
        log.warning("no page is served: %s", reason)
        return None
    server.begin_run(replace(header, application=first.application if first else None))
    log.info("the page of this run: %s", server.start().address)
    if given.token is not None:
        log.info("the token that controls it lies in %s", given.token.expanduser().absolute())
    return server


def _first_look(platform: Platform) -> Observation | Exception:
    """What is there before the loop begins, or why it cannot be seen."""
    try:
        return sanitize_observation(platform.observe())
    except Exception as wrong:
        # The loop looks again, and holds until it sees something.
        return wrong


def _resumed(planner: Planner, folder: Path, platform: str, first: Observation | Exception) -> str:
    if not folder.exists():
        return "a new journal is begun"
    if isinstance(first, Exception):
        return f"starts anew: no look at {platform}: {first}"
    return resume(planner, folder, first)
