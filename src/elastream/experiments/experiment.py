"""What is run: plain values only, so that an experiment can be compared, hashed, written down and read back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter, ValidationError

from elastream.core.decision import Json
from elastream.core.errors import BadInput, suggestion
from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.jobs.topic_names import Topics


def _canonical(settings: object) -> str:
    """Settings as one text: equal settings are equal texts, and lists in them can be hashed."""
    given = json.loads(settings) if isinstance(settings, str) else settings
    if not isinstance(given, dict):
        raise ValueError("settings are names and values")
    # JSON has no infinity, which is only ever a default: how long a fault lasts that does not end.
    finite = {key: value for key, value in given.items() if not (isinstance(value, float) and math.isinf(value))}
    return json.dumps(finite, sort_keys=True)


def write_settings(settings: Mapping[str, Json]) -> str:
    """Settings as the one text that equal settings have."""
    return _canonical(dict(settings))


def _read_settings(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


SettingsText = Annotated[str, BeforeValidator(_canonical), PlainSerializer(json.loads, return_type=dict[str, Any])]
Pairs = Annotated[
    tuple[tuple[str, str], ...],
    BeforeValidator(lambda given: tuple(given.items()) if isinstance(given, dict) else given),
    PlainSerializer(dict, return_type=dict[str, str]),
]
"""Options by name, in their order; written as names and values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSettings:
    """What was chosen by its name, with settings: a policy, a guard, a fault, a job."""

    name: str
    settings_text: SettingsText = "{}"
    written: str = field(default="", compare=False)
    """As its user wrote it, where somebody did."""

    @classmethod
    def of(cls, name: str, settings: Mapping[str, Json], *, written: str = "") -> NamedSettings:
        """From settings as they are."""
        return cls(name=name, settings_text=write_settings(settings), written=written)

    @property
    def settings(self) -> dict[str, Any]:
        """By name."""
        return _read_settings(self.settings_text)

    @property
    def label(self) -> str:
        """What to call it: its name, with the settings if some were given."""
        return self.written or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorBounds:
    """How many workers a pool may have, and has at the start; None: as the model or the platform has it."""

    min: int | None = None
    max: int | None = None
    start: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedModel:
    """A model on the simulator."""

    model: str
    """Its name, or the path of a file that describes one."""
    trigger: Trigger | None = None
    """None: the model's own."""
    slots: int | None = None
    """Per worker; None: the model's own."""
    faults: tuple[NamedSettings, ...] = ()
    noise_seed: int | None = None
    """Of all that is random but the load; None: that of the experiment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveJob:
    """A job on real executors."""

    job: NamedSettings
    trigger_s: float | None = 3.0
    """None: as fast as possible."""
    capacity_rps: float | None = None
    """What a slot is limited to; None: the work is real."""
    time_factor: float = 1.0
    """The load's time passes so much faster."""
    events: Pairs = ()
    """More options of the events."""
    sink: str = "parquet"
    topics: Topics | None = None
    """Where events come from and results go to, if that is Kafka; the sink of results is then `kafka`."""
    master: str | None = None
    """A cluster to use as it is; None: one is started for the run."""
    warm_up: bool = True
    """Whether the same query runs over a few events first: what a driver does for the first time takes many times as
    long, and says nothing about an application that runs for days."""
    settings_text: SettingsText = "{}"
    """Others of `elastream config`, by path."""

    @property
    def settings(self) -> dict[str, Any]:
        """By path."""
        return _read_settings(self.settings_text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A subject under a load, and the policy that decides. The same experiment gives the same run on the simulator."""

    subject: SimulatedModel | LiveJob
    workload: str
    """As text; where events come from topics, which."""
    duration_s: float
    policy: NamedSettings
    guards: tuple[NamedSettings, ...] = ()
    executors: ExecutorBounds = ExecutorBounds()
    slo: Slo | None = None
    """None: what the model promises itself, or nothing."""
    tick_s: float = 5.0
    seed: int = 0

    @property
    def platform(self) -> Literal["simulator", "live"]:
        """Where it runs."""
        return "simulator" if isinstance(self.subject, SimulatedModel) else "live"

    def as_json(self) -> dict[str, Any]:
        """As plain values, from which `parse_experiment` makes the same."""
        plain: dict[str, Any] = _adapter().dump_python(self, mode="json")
        return plain


def parse_experiment(document: object) -> Experiment:
    """An experiment from plain values; BadInput in one line if it is none."""
    try:
        found = _adapter().validate_python(document)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"experiment: {where or 'document'}: {first['msg']}") from None
    _refuse_unknown(document, found.as_json(), "experiment")
    return found


def _refuse_unknown(given: object, known: object, where: str) -> None:
    """A name that nobody reads is a slip, and would go unnoticed."""
    if isinstance(given, Mapping) and isinstance(known, Mapping):
        for name, value in given.items():
            if name not in known:
                raise BadInput(f"{where}: there is no {name!r}{suggestion(str(name), list(known))}")
            _refuse_unknown(value, known[name], f"{where}.{name}")
    elif isinstance(given, list) and isinstance(known, list):
        for one, other in zip(given, known, strict=False):
            _refuse_unknown(one, other, where)


@cache
def _adapter() -> TypeAdapter[Experiment]:
    return TypeAdapter(Experiment)
