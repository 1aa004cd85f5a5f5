"""`elastream.attach(spark)`: the loop inside somebody else's driver.

A daemon thread looks, decides and changes executors while the application's queries run. Whatever goes wrong in it
stays in it: the queries do not notice, and the user reads one line.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elastream.attachment.assembly import build, find_initial_size, resolve_settings
from elastream.attachment.handle import ENABLED, Attachment, SwitchedOff
from elastream.config import Settings, leaves
from elastream.config.sources import SPARK_PREFIX
from elastream.core.bounds import parse_bounds
from elastream.core.log import log
from elastream.core.protocols import Journal
from elastream.core.sanitizer import REDACTION, sanitizer, use_pattern
from elastream.loop.clock import SystemClock
from elastream.loop.controller import MAX_AGE_TICKS
from elastream.spark.observe.probes import probes
from elastream.spark.observe.prometheus.background import PrometheusWatch, watch_for
from elastream.spark.platform import SparkPlatform
from elastream.spark.scale.executors import ShrinkBy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_attached: dict[str, Attachment] = {}
_asked: dict[str, dict[str, object]] = {}
"""Application -> what was asked for with the attachment that it has."""
_lock = threading.Lock()


def attach(
    spark: SparkSession,
    *,
    policy: str | None = None,
    executors: tuple[int, int] | str | None = None,
    slo: float | str | None = None,
    config: Path | str | None = None,
    shrink_by: ShrinkBy = "decommission",
    emulated: str | None = None,
    journals: Sequence[Journal] = (),
    page: bool | int | None = None,
    **settings: Any,
) -> Attachment | SwitchedOff:
    """Keep the application behind `spark` supplied with the executors it needs, until it ends or is detached.

    `executors` are both bounds: `(1, 12)` or `"1..12"`. `slo` is a delay that 99 of 100 records should keep
    (`slo__share=0.95` for another share), in seconds or as text ('30s'). Other settings are named as in `elastream
    config`, with two underscores for a dot: `tick_s=5`, `guards__cool_down__after_s=120`; `config` names a YAML file of
    them, over which everything else wins (PyYAML comes with `elastream[cli]`). A second attach to the same application
    returns the first one's handle, and says so if it asks for something else; where the first one's loop has failed, it
    begins anew. `page` serves a page that shows the run, on this port if it is a number; its address is in the handle
    (`.page`); with `page__token="FILE"` whoever has the token in that file may control the run there. `emulated` says
    in words that slots only pretend to work (the laboratory's capacity): their processor use then says nothing, busy
    slots stand in, and the words are recorded.
    """
    conf = _elastream_conf(spark)
    # Before anything is told: what is secret in this application is so in its journal, its log and its errors.
    use_pattern(conf.pop(REDACTION, None))
    if conf.pop(ENABLED, "true").strip().lower() == "false":
        log.warning("%s is false: executors stay as they are", ENABLED)
        return SwitchedOff()
    given, decides = resolve_settings(
        _flags(policy, executors, slo, page, settings), conf, None if config is None else Path(config)
    )

    for stream, path in given.probes.items():
        probes.use(stream, path)
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
        outside = _ask_outside(given, spark)
        platform = SparkPlatform(
            spark,
            clock,
            bounds=(given.executors.min, given.executors.max),
            initial=find_initial_size(given),
            slo=given.slo.build(),
            shrink_by=shrink_by,
            emulated=emulated is not None,
            asks_kafka=given.kafka.probe,
            outside=outside,
        )
        if outside is not None:
            outside.start()
        try:
            notes = [emulated] if emulated else []
            attachment = build(platform, clock, decides, given, journals, notes=notes, forget=_forget)
        except BaseException:
            platform.close()
            raise
        _attached[application], _asked[application] = attachment, asked
    return attachment.start()


def _ask_outside(given: Settings, spark: SparkSession) -> PrometheusWatch | None:
    """Who asks Prometheus, where one is named."""
    if given.prometheus.url is None:
        return None
    context = spark.sparkContext
    max_age_s = given.max_age_s if given.max_age_s is not None else MAX_AGE_TICKS * given.tick_s
    return watch_for(
        given.prometheus, {"application": str(context.applicationId), "name": str(context.appName)}, max_age_s
    )


def _paths(settings: Settings) -> dict[str, object]:
    """Path -> value of everything that was settled, the policy's and the guards' own settings too."""
    found = dict(leaves(settings))
    found |= {f"policy_settings.{name}": value for name, value in settings.policy_settings.items()}
    found |= {f"probes.{name}": value for name, value in settings.probes.items()}
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


def _flags(
    policy: str | None,
    executors: tuple[int, int] | str | None,
    slo: float | str | None,
    page: bool | int | None,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    flags = {name.replace("__", "."): value for name, value in settings.items()}
    if policy is not None:
        flags["policy"] = policy
    if executors is not None:
        flags["executors.min"], flags["executors.max"] = parse_bounds(executors, "executors")
    if slo is not None:
        flags["slo.delay"] = slo
    if page is not None:
        flags["page.serve"] = page is not False
    if page is not None and not isinstance(page, bool):
        flags["page.port"] = page
    return flags


def _elastream_conf(spark: SparkSession) -> dict[str, str]:
    context = getattr(spark, "_sc", None)
    if context is None:
        return {}
    return {key: value for key, value in context.getConf().getAll() if key.startswith(SPARK_PREFIX) or key == REDACTION}


def _forget(attachment: Attachment) -> None:
    with _lock:
        for application, found in list(_attached.items()):
            if found is attachment:
                del _attached[application], _asked[application]
