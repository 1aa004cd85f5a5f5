"""One value for every setting, and where it came from: flag, then Spark, then environment, then file, then default."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from elastream.config.guards import build_guards, guard_key, guard_name, guard_setting, guards
from elastream.config.settings import Settings, leaves, section
from elastream.config.sources import DEFAULT, Entry, from_defaults, from_environment, from_flags, from_spark, from_yaml
from elastream.core.bounds import parse_bounds
from elastream.core.errors import BadInput, suggestion
from elastream.core.log import log
from elastream.core.sanitizer import sanitizer
from elastream.registry import UNIT_SUFFIXES, without_unit

_BOOL = TypeAdapter(bool)
_Found = dict[tuple[str, ...], Entry]
_TREES = ("guards", "policy_settings", "probes")
"""Below these stand names that are not ours."""
_OLD_SLO = (("slo", "p95_s"), ("slo", "p95"))


class Resolved(NamedTuple):
    """A value and where it came from."""

    value: object
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The settings of a run, and the origin of each."""

    settings: Settings
    origins: Mapping[str, Resolved]
    """Path -> value and origin, the defaults among them."""

    def is_default(self, path: str) -> bool:
        """Whether nobody has set it, nor anything below it."""
        below = (found.origin for name, found in self.origins.items() if name == path or name.startswith(f"{path}."))
        return all(origin == DEFAULT for origin in below)

    def printable(self) -> Iterator[tuple[str, object, str]]:
        """Path, value and origin as `elastream config` prints them: without secrets."""
        fit = sanitizer()
        for path, (value, origin) in self.origins.items():
            is_plain = value is None or isinstance(value, (bool, int, float))
            # Only its own name: what it belongs to says nothing of a setting.
            safe = fit.setting(path.rpartition(".")[2], value if is_plain else str(value))
            yield fit.line(path), safe, fit.line(origin)


def resolve(
    flags: Mapping[str, object],
    spark_conf: Mapping[str, str],
    environ: Mapping[str, str],
    yaml_path: Path | None,
    *,
    defaults: Mapping[str, object] | None = None,
    spelt: str = "--set {}",
) -> Resolution:
    """Read all sources, or say in one line what is wrong and where.

    `defaults` are those of the place that asks, and `spelt` is how one writes a flag there.
    """
    # From the weakest to the strongest: what comes later wins.
    layers = [
        _placed(from_defaults(defaults or {})),
        _placed(from_yaml(yaml_path) if yaml_path is not None else ()),
        _placed(from_environment(environ)),
        _placed(from_spark(spark_conf)),
        _placed(from_flags(flags, spelt)),
    ]
    found = _merged(layers)
    settings = _validated(found)
    return Resolution(settings=settings, origins=_origins(settings, found))


def _placed(entries: Iterable[Entry]) -> _Found:
    """One source's entries by their full paths."""
    placed: _Found = {}
    for entry in _with_both_bounds(_with_present_names(list(entries))):
        known = _known(entry)
        if known is not None:
            if known.path in placed:
                raise BadInput(f"{known.where} is given twice")
            placed[known.path] = known
    return placed


def _with_present_names(entries: list[Entry]) -> list[Entry]:
    """`slo.p95_s`, as it was once, promised a 95th percentile."""
    found = [entry for entry in entries if entry.path not in _OLD_SLO]
    for entry in entries:
        if entry.path in _OLD_SLO:
            log.warning("%s is an old name; write slo.delay, and slo.share=0.95 for what it meant", entry.where)
            found.append(entry._replace(path=("slo", "delay")))
            if not any(other.path == ("slo", "share") for other in entries):
                found.append(entry._replace(path=("slo", "share"), value=0.95))
    return found


def _with_both_bounds(entries: Iterable[Entry]) -> Iterator[Entry]:
    """`executors: 1..12` says both bounds at once."""
    for entry in entries:
        if entry.path == ("executors",) and entry.value not in (None, {}):
            for name, value in zip(("min", "max"), parse_bounds(entry.value, entry.where), strict=True):
                yield entry._replace(path=("executors", name), value=value)
        else:
            yield entry


def _known(entry: Entry) -> Entry | None:
    """The entry with its path spelt in full and its value read; None if it says nothing."""
    name = _named(entry, 0, Settings.model_fields)
    if entry.value in (None, {}) and len(entry.path) == 1 and (section(name) or name in _TREES):
        return None  # `guards:` with nothing below it
    if name == "guards":
        return _known_guard(entry)
    if name == "policy_settings" and len(entry.path) > 1:
        return entry._replace(path=(name, *(part.replace("-", "_") for part in entry.path[1:])))
    if name == "probes" and len(entry.path) > 1:
        return entry._replace(path=(name, ".".join(entry.path[1:])))
    model = section(name)
    depth = 1 if model is None else 2
    if name in _TREES or len(entry.path) < depth:
        below = model.model_fields if model else ("<class of the stream>" if name == "probes" else "<setting>",)
        raise BadInput(f"{entry.where}: found {entry.value!r}; write {' or '.join(f'{name}.{key}' for key in below)}")
    if len(entry.path) > depth:
        raise BadInput(f"{entry.where}: {'.'.join(entry.path[:depth])} is a value and has no settings of its own")
    return entry._replace(path=(name, _named(entry, 1, model.model_fields)) if model else (name,))


def _known_guard(entry: Entry) -> Entry:
    """`guards.x.y` is a setting, `guards.x` switches a guard on or off."""
    if len(entry.path) == 1:
        raise BadInput(f"{entry.where}: found {entry.value!r}; write guards.<guard>.<setting>")
    entry = _with_whole_class(entry)
    guard = guard_key(entry.path[1])
    if guard_name(guard) not in guards:
        guard = guard_key(_named(entry, 1, guards.names()))
    if len(entry.path) == 2:
        return entry._replace(path=("guards", guard), value=_switch(entry))
    try:
        key, value = guard_setting(guard, ".".join(entry.path[2:]), entry.value)
    except BadInput as wrong:
        raise BadInput(f"{entry.origin}: {wrong}") from None
    return entry._replace(path=("guards", guard, key), value=value)


def _with_whole_class(entry: Entry) -> Entry:
    """`guards.my.module:Mine.after_s` was taken apart at every dot; a class of others is one name."""
    last = next((place for place, part in enumerate(entry.path) if ":" in part), 1)
    return entry._replace(path=(entry.path[0], ".".join(entry.path[1 : last + 1]), *entry.path[last + 1 :]))


def _switch(entry: Entry) -> bool:
    if entry.value in (None, {}):
        return True
    try:
        return _BOOL.validate_python(entry.value)
    except ValidationError:
        raise BadInput(f"{entry.where}: found {entry.value!r}; write true, false, or settings below it") from None


def _named(entry: Entry, depth: int, names: Iterable[str]) -> str:
    """The name meant at one place of a path; its unit may be left out, as in the settings of policies."""
    known, given = {guard_key(name): name for name in names}, entry.path[depth]
    for name in (guard_key(given), *(guard_key(given) + suffix for suffix in UNIT_SUFFIXES)):
        if name in known:
            return known[name]
    near = suggestion(given, map(without_unit, known.values()))
    part = f": {given!r}" if len(entry.path) > 1 else ""
    raise BadInput(f"{entry.origin}: no setting {'.'.join(entry.path)!r}{part}{near}")


def _merged(layers: list[_Found]) -> _Found:
    merged: _Found = {}
    for layer in layers:
        merged |= layer
    policy = merged[("policy",)].value if ("policy",) in merged else None
    for layer in layers:
        # A file that sets up one policy must not get in the way of choosing another by a flag.
        if ("policy",) in layer and layer[("policy",)].value != policy:
            for path, entry in layer.items():
                if path[0] == "policy_settings" and merged.get(path) == entry:
                    del merged[path]
    return {path: entry for path, entry in merged.items() if path[0] != "guards" or _is_on(path[1], merged)}


def _is_on(guard: str, found: _Found) -> bool:
    """A guard is on if it is mentioned, unless it was switched off by one that no setting of it outranks."""
    switch = found.get(("guards", guard))
    if switch is None or switch.value:
        return True
    return any(e.rank > switch.rank for path, e in found.items() if path[:2] == ("guards", guard) and len(path) == 3)


def _validated(found: _Found) -> Settings:
    tree: dict[str, Any] = {}
    for path, entry in found.items():
        node = tree
        if path[0] == "guards" and len(path) == 2:
            node.setdefault("guards", {}).setdefault(path[1], {})
            continue
        for part in path[:-1]:
            node = node.setdefault(part, {})
        node[path[-1]] = entry.value
    for guard, settings in tree.get("guards", {}).items():
        _check_guard(guard, settings, found)
    try:
        return Settings.model_validate(tree)
    except ValidationError as wrong:
        raise _located(wrong, found) from None


def _check_guard(guard: str, settings: Mapping[str, object], found: _Found) -> None:
    """What shows only when all settings are together, such as one that is missing."""
    try:
        build_guards({guard: settings})
    except BadInput as wrong:
        raise BadInput(f"{_origins_below(('guards', guard), found)}: {wrong}") from None


def _located(wrong: ValidationError, found: _Found) -> BadInput:
    """The first error in one line that begins with where the value was written."""
    first = wrong.errors(include_url=False)[0]
    path = tuple(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ").replace("Input should be", "it must be")
    message = message[0].lower() + message[1:]
    if path in found:
        return BadInput(f"{found[path].where}: found {found[path].value!r}; {message}")
    return BadInput(f"{_origins_below(path, found)}: {'.'.join(path)}: {message}")


def _origins_below(path: tuple[str, ...], found: _Found) -> str:
    return ", ".join(dict.fromkeys(entry.origin for p, entry in found.items() if p[: len(path)] == path)) or DEFAULT


def _origins(settings: Settings, found: _Found) -> dict[str, Resolved]:
    by_key = {entry.key: entry for entry in found.values()}
    values = dict(leaves(settings))
    for guard, given in settings.guards.items():
        if f"guards.{guard}" in by_key:
            values[f"guards.{guard}"] = True
        values |= {f"guards.{guard}.{s.name}": given.get(s.name, s.default) for s in guards.settings(guard_name(guard))}
    values |= {key: entry.value for key, entry in by_key.items() if entry.path[0] in ("policy_settings", "probes")}
    return {key: Resolved(value, by_key[key].origin if key in by_key else DEFAULT) for key, value in values.items()}
