"""Decisions as lines of JSON, for programs that collect logs: the fields of OpenTelemetry's log records, stable keys.

A line for each decision that a policy makes, and for each one that changes sizes or says something else; one that is
only stated again has none. All keys are always there, and what is unknown is null. docs/logs.md lists them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from elastream.core.decision import Decision
from elastream.core.observation import Observation, Query
from elastream.core.sanitizer import sanitizer
from elastream.core.tick import Tick
from elastream.journal.format import Header, elastream_version

SEVERITIES: Mapping[str, int] = {"INFO": 9, "WARN": 13}
"""The numbers that OpenTelemetry gives them."""
MOST_QUERIES = 100

Severity = Literal["INFO", "WARN"]


class DecisionLines:
    """Writes a line for each decision. Implements Journal."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._header: Header | None = None
        self._application: str | None = None
        self._last: Decision | None = None
        self._troubles: tuple[str, ...] = ()

    def begin_run(self, header: Header) -> None:
        """A run begins."""
        self._header, self._last = header, None

    def write(self, tick: Tick) -> None:
        """Take in one tick. Implements Journal."""
        decision, now = tick.decision, tick.observation
        self._application = now.application if now is not None else self._application
        if decision is not None and self._is_told(decision, now, tick.troubles):
            self._write(self._line(tick, decision, now))
        self._last, self._troubles = decision, tick.troubles

    def close(self) -> None:
        """Nothing to close. Implements Journal."""

    def _is_told(self, decision: Decision, now: Observation | None, troubles: tuple[str, ...]) -> bool:
        last = self._last
        if last is None or (now is not None and decision.changes(now)):
            return True
        if decision.made_s is not None and decision.made_s != last.made_s:
            return True
        notes = [(note.guard, note.pool, note.after) for note in decision.adjustments]
        return (
            decision.kind != last.kind
            or dict(decision.allocation) != dict(last.allocation)
            or notes != [(note.guard, note.pool, note.after) for note in last.adjustments]
            or bool(troubles) != bool(self._troubles)
        )

    def _line(self, tick: Tick, decision: Decision, now: Observation | None) -> str:
        changes = decision.changes(now) if now is not None else {}
        before = sum(pool.wanted for pool in now.pools) if now is not None else None
        after = sum(decision.allocation.values())
        action = "hold" if decision.kind == "hold" else "keep"
        if changes and before is not None:
            action = "grow" if after > before else "shrink"
        moves = ", ".join(f"{pool} {first} -> {then}" for pool, (first, then) in changes.items())
        sizes = ", ".join(f"{pool} {size}" for pool, size in decision.allocation.items())
        head = moves or f"{sizes} {'held' if action == 'hold' else 'kept'}"
        header = self._header
        attributes: dict[str, Any] = {
            "elastream.tick": tick.number,
            "elastream.policy": header.policy if header is not None else None,
            "elastream.decision.action": action,
            "elastream.decision.reason": decision.reason,
            "elastream.executors.proposed": sum(decision.proposed().values()),
            "elastream.executors.wanted": after,
            "elastream.executors.wanted_before": before,
            "elastream.executors.requested": _sum(now, "requested"),
            "elastream.executors.ready": _sum(now, "ready"),
            "elastream.executors.leaving": _sum(now, "leaving"),
            "elastream.guards": [
                {
                    "name": note.guard,
                    "pool": note.pool,
                    "before": note.before,
                    "after": note.after,
                    "reason": note.reason,
                }
                for note in decision.adjustments
            ],
            "elastream.queries": [_query(one) for one in now.queries[:MOST_QUERIES]] if now is not None else [],
            "elastream.limits": [
                {"query": one.query, "kind": one.kind, "reason": one.sentence} for one in tick.bottlenecks
            ],
            "elastream.troubles": list(tick.troubles),
        }
        return _dumped(
            utc_s=tick.utc_s,
            severity="WARN" if tick.troubles else "INFO",
            event="elastream.decision",
            body=f"{head}: {decision.sentence()}",
            resource={
                "service.name": (header.name if header is not None else None) or self._application,
                "service.instance.id": self._application,
                "elastream.version": header.elastream if header is not None else elastream_version(),
            },
            attributes=attributes,
        )


def message_line(text: str, utc_s: float, severity: Severity = "INFO") -> str:
    """Anything else that is said, in the same shape."""
    return _dumped(
        utc_s=utc_s,
        severity=severity,
        event="elastream.message",
        body=text,
        resource={"elastream.version": elastream_version()},
        attributes={},
    )


def write_to_stderr(line: str) -> None:
    """A line for whoever collects what a driver says."""
    stream = sys.stderr or sys.__stderr__
    if stream is not None:
        # In one piece: other threads write there too.
        stream.write(f"{line}\n")
        stream.flush()


def _dumped(
    *,
    utc_s: float,
    severity: Severity,
    event: str,
    body: str,
    resource: Mapping[str, object],
    attributes: Mapping[str, object],
) -> str:
    at = datetime.fromtimestamp(utc_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    record = {
        "timestamp": at,
        "severity_text": severity,
        "severity_number": SEVERITIES[severity],
        "event_name": event,
        "body": body,
        "resource": resource,
        "attributes": attributes,
    }
    return json.dumps(sanitizer().texts(record), allow_nan=False, separators=(",", ":"))


def _sum(now: Observation | None, what: Literal["requested", "ready", "leaving"]) -> int | None:
    return None if now is None else sum(int(getattr(pool, what)) for pool in now.pools)


def _query(query: Query) -> dict[str, Any]:
    return {
        "name": query.name,
        "id": query.id,
        "phase": query.phase,
        "backlog_records": query.backlog,
        "backlog_age_s": query.delay_to_come_s,
        "delay_p95_s": None if query.delay is None else query.delay.p95_s,
        "within_slo": query.is_within_slo,
    }
