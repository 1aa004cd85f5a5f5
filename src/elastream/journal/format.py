"""How a run is written down: JSON lines. A header, what the planner remembered, then one line per tick.

    {"schema":4,"application":...}     how the run was set up
    {"dropped":{"files":2,...}}        what was dropped to stay within the bytes allowed; absent if nothing was
    {"snapshot":{...}}                 what was remembered before the first tick below; absent if nothing was
    {"number":1,"observation":...}     one tick, with everything needed to plan it again

Values equal to their defaults are left out; a reading is `[value, at_s]`.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from elastream.config import settings_of
from elastream.core.decision import Json
from elastream.core.errors import JournalError
from elastream.core.observation import Observation
from elastream.core.protocols import Platform
from elastream.core.sanitizer import sanitizer
from elastream.core.signals import Signal
from elastream.core.tick import Tick
from elastream.core.topology import Topology
from elastream.loop.planner import Planner

SCHEMA = 4

Line = dict[str, Any]
"""One line, parsed."""


def _with_share(line: Line) -> Line:
    """Schema 1 promised a 95th percentile; since then a promise is a bound and a share of the records."""
    for query in (line.get("observation") or {}).get("queries") or ():
        if isinstance(slo := query.get("slo"), dict) and "p95_s" in slo:
            query["slo"] = {"delay_s": slo["p95_s"], "share": 0.95}
    return line


def _as_it_is(line: Line) -> Line:
    """Schema 2 had a time per reading in snapshots, which can still be read, and no bound on its bytes. Schema 3 knew
    nothing of what people ask of a loop, without which it cannot be planned again."""
    return line


UPGRADES: dict[int, Callable[[Line], Line]] = {1: _with_share, 2: _as_it_is, 3: _as_it_is}
"""Schema -> what makes a line of it (header, snapshot or tick) one of the next schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What one worker of a pool is like."""

    slots: int
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Files that a writer has dropped to make room, oldest first."""

    files: int = 0
    bytes: int = 0
    last: str = ""
    """The newest of them."""

    def plus(self, files: Sequence[tuple[Path, int]]) -> "Dropped":
        """With more of them: paths and sizes."""
        if not files:
            return self
        return Dropped(
            files=self.files + len(files), bytes=self.bytes + sum(size for _, size in files), last=files[-1][0].name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """How a run was set up."""

    schema: int = SCHEMA
    policy: str
    policy_class: str
    policy_settings: Mapping[str, Json] = field(default_factory=dict)
    guards: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    tick_s: float
    max_age_s: float
    platform: str
    provides: tuple[Signal, ...]
    started_utc: str
    """Files of one run have the same application and the same start."""
    elastream: str
    spark: str | None = None
    application: str | None = None
    name: str | None = None
    """What the application calls itself, where it has another name than its id."""
    fingerprint: str | None = None
    """Of the queries, when the file was begun; None before the first look."""
    shape: Mapping[str, Shape] | None = None
    memory: Literal["here", "before", "lost"] = "here"
    """Where it stands what was remembered before the first tick: in the snapshot below (in its absence: nothing was),
    at the end of the file before this one, or nowhere."""
    notes: tuple[str, ...] = ()
    """What must stand beside every figure and picture of the run."""

    @property
    def pause(self) -> str | None:
        """How the run was told at its start to change nothing; None if it was not."""
        guard = self.guards.get("pause")
        return None if guard is None else str(guard.get("mode", "paused"))

    @property
    def run(self) -> tuple[str | None, str]:
        """What tells one run from another."""
        return self.application, self.started_utc


_HEADER = TypeAdapter(Header)
_TICK = TypeAdapter(Tick)
_TOPOLOGY = TypeAdapter(Topology)
_DROPPED = TypeAdapter(Dropped)
# What a run of an older version did not tell of a query is no sign that the query is another.
_NOT_TOLD = {"operators": {"__all__": {"reads"}}}


def describe(
    planner: Planner,
    platform: Platform,
    *,
    policy: str,
    tick_s: float,
    max_age_s: float,
    utc_s: float,
    spark: str | None = None,
    name: str | None = None,
    notes: Sequence[str] = (),
) -> Header:
    """The header of a run that begins now. What only a look can tell is added with the first one."""
    return Header(
        policy=policy,
        policy_class=_class_name(planner),
        policy_settings=settings_of(planner.policy),
        guards={name: settings_of(guard) for name, guard in planner.guards.items()},
        tick_s=tick_s,
        max_age_s=max_age_s,
        platform=platform.name,
        provides=tuple(sorted(platform.provides)),
        started_utc=datetime.fromtimestamp(utc_s, UTC).isoformat(timespec="milliseconds"),
        elastream=elastream_version(),
        spark=spark,
        name=name,
        notes=tuple(notes),
    )


def differs(header: Header, planner: Planner) -> str | None:
    """Why what was remembered in a recorded run is of no use to a planner; None if it is."""
    # A setting that was hidden can no longer be compared.
    hidden = sanitizer().settings
    if header.policy_class != _class_name(planner):
        return f"the policy is another than {header.policy}"
    if hidden(header.policy_settings) != hidden(settings_of(planner.policy)):
        return f"policy {header.policy} had other settings"
    fit = sanitizer().texts
    if fit(header.guards) != fit({name: settings_of(guard) for name, guard in planner.guards.items()}):
        return "the guards are others"
    return None


def elastream_version() -> str:
    """The version installed; shipped to a cluster as a zip there is none."""
    try:
        return version("elastream")
    except PackageNotFoundError:
        return "unknown"


def fingerprint(now: Observation) -> str:
    """Of the queries and what they are made of: another one makes what was learned worthless."""
    queries = sorted(
        json.dumps([query.name, _TOPOLOGY.dump_python(query.topology, mode="json", exclude=_NOT_TOLD)], sort_keys=True)
        for query in now.queries
    )
    return hashlib.sha256("\n".join(queries).encode()).hexdigest()[:16]


def shape(now: Observation) -> dict[str, Shape]:
    """Of the workers: larger ones do more, so that what was learned of others does not hold."""
    return {pool.name: Shape(slots=pool.slots_per_worker, memory_bytes=pool.worker_memory_bytes) for pool in now.pools}


def header_line(header: Header) -> str:
    """The first line of a file."""
    # The schema stands there whatever its default is: it says how to read the rest.
    line = {"schema": header.schema, **_HEADER.dump_python(header, mode="json", exclude_defaults=True)}
    return _dumped(sanitize_line(line))


def dropped_line(dropped: Dropped) -> str:
    """What was dropped."""
    return _dumped({"dropped": _DROPPED.dump_python(dropped, mode="json")})


def snapshot_line(snapshot: Mapping[str, Any]) -> str:
    """What the planner remembers."""
    # Piece by piece: while one is encoded, no other thread of this process runs.
    return _dumped_by_parts(sanitize_line({"snapshot": snapshot}), 4) + "\n"


def tick_line(tick: Tick) -> str:
    """One tick."""
    # Evidence is whatever a policy says; a tuple in it becomes a list without a word.
    return _dumped(sanitize_line(_TICK.dump_python(tick, mode="json", exclude_defaults=True, warnings=False)))


def sanitize_line(line: Line) -> Line:
    """A line with all text in it made fit, to be written or as others wrote it.

    The names of our own fields say nothing of their values, whatever pattern an application has; nor do those of
    operators, by which memories are kept. Settings of a policy and evidence have names that others chose.
    """
    fit = sanitizer()
    safe: Line = fit.texts(line)
    if isinstance(settings := line.get("policy_settings"), Mapping):
        safe["policy_settings"] = fit.settings(settings)
    snapshot = line.get("snapshot")
    for place, inside in (("decision", line), ("last", snapshot), ("proposal", snapshot)):
        decision = inside.get(place) if isinstance(inside, Mapping) else None
        if isinstance(decision, Mapping) and decision.get("evidence"):
            (safe if inside is line else safe["snapshot"])[place]["evidence"] = fit.data(decision["evidence"])
    return safe


def parse_header(line: Line, where: str) -> Header:
    """The header in a line of the present schema."""
    try:
        return _HEADER.validate_python(line)
    except ValidationError as wrong:
        raise JournalError(f"{where}: a header that cannot be read: {_first(wrong)}") from None


def parse_dropped(line: Line, where: str) -> Dropped | None:
    """What a line says was dropped; None if it is another line."""
    if "dropped" not in line:
        return None
    try:
        return _DROPPED.validate_python(line["dropped"])
    except ValidationError as wrong:
        raise JournalError(f"{where}: what was dropped cannot be read: {_first(wrong)}") from None


def parse_tick(line: Line, where: str) -> Tick:
    """The tick in a line of the present schema."""
    try:
        return _TICK.validate_python(line)
    except ValidationError as wrong:
        raise JournalError(f"{where}: a tick that cannot be read: {_first(wrong)}") from None


def upgraded(line: Line, schema: int, where: str) -> Line:
    """A line of an older schema as one of the present schema."""
    if schema > SCHEMA:
        raise JournalError(
            f"{where}: written with journal schema {schema}, this Elastream ({elastream_version()}) reads up to "
            f"{SCHEMA}; read it with the version that wrote it or a newer one"
        )
    for step in range(schema, SCHEMA):
        if step not in UPGRADES:
            raise JournalError(f"{where}: journal schema {schema} is too old to be read; the present one is {SCHEMA}")
        line = UPGRADES[step](line)
    return line


def _class_name(planner: Planner) -> str:
    return f"{type(planner.policy).__module__}.{type(planner.policy).__qualname__}"


def _dumped(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def _dumped_by_parts(value: object, depth: int) -> str:
    """The same text as in one piece."""
    if depth and isinstance(value, dict) and all(isinstance(key, str) for key in value):
        items = (f"{json.dumps(key)}:{_dumped_by_parts(item, depth - 1)}" for key, item in value.items())
        return f"{{{','.join(items)}}}"
    if depth and isinstance(value, list):
        return f"[{','.join(_dumped_by_parts(item, depth - 1) for item in value)}]"
    return json.dumps(value, separators=(",", ":"))


def _first(wrong: ValidationError) -> str:
    first = wrong.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
