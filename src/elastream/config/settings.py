"""The settings of a run, typed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from elastream.config.guards import build_guards
from elastream.core.callform import is_class_path
from elastream.core.errors import BadInput
from elastream.core.protocols import Guard
from elastream.core.quantity import Unit, parse_quantity
from elastream.core.slo import SHARE, Slo


def _number(value: object, units: tuple[Unit, ...], what: str) -> object:
    """Text as a number; anything else is left to pydantic, which would take `true` for 1."""
    if isinstance(value, bool):
        raise ValueError(f"it must be {what}")
    if not isinstance(value, str):
        return value
    try:
        quantity = parse_quantity(value)
    except BadInput:
        raise ValueError(f"it must be {what}") from None
    if quantity.unit not in units:
        raise ValueError(f"it must be {what}")
    return quantity.value


def _none_or(value: object) -> object:
    """In properties and the environment there is only text."""
    return None if isinstance(value, str) and value.strip().lower() in ("none", "null", "") else value


def _split(value: object) -> object:
    """`a.example,b.example` in properties and the environment."""
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Seconds = Annotated[float, BeforeValidator(lambda v: _number(v, ("", "s"), "a duration such as 15 or 5m")), Field(gt=0)]
Count = Annotated[int, BeforeValidator(lambda v: _number(v, ("",), "a whole number"))]
Share = Annotated[float, BeforeValidator(lambda v: _number(v, ("", "%"), "a share such as 0.99 or 99%"))]
Nothing = BeforeValidator(_none_or)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ExecutorSettings(_Section):
    """How many executors there may be."""

    min: Annotated[Count, Field(ge=1)] = Field(default=1, description="never fewer")
    max: Annotated[Count, Field(ge=1)] = Field(default=10, description="never more")
    initial: Annotated[Annotated[Count, Field(ge=1)] | None, Nothing] = Field(
        default=None, description="at the start; none: what the application starts with"
    )

    @model_validator(mode="after")
    def _in_order(self) -> "ExecutorSettings":
        if self.min > self.max:
            raise ValueError(f"min {self.min} is larger than max {self.max}")
        if self.initial is not None and not self.min <= self.initial <= self.max:
            raise ValueError(f"initial {self.initial} is not between min {self.min} and max {self.max}")
        return self


class SloSettings(_Section):
    """What the owner of the queries promises."""

    delay: Annotated[Seconds | None, Nothing] = Field(
        default=None, description="records are committed within this time of their arrival; none: no promise"
    )
    share: Annotated[Share, Field(gt=0, le=1)] = Field(
        default=SHARE, description="this share of them at least, over the run: 0.99 or 99%"
    )

    def build(self) -> Slo | None:
        """What was promised, if anything."""
        return None if self.delay is None else Slo(delay_s=self.delay, share=self.share)


class JournalSettings(_Section):
    """Where every tick is recorded."""

    folder: Annotated[Path | None, Nothing] = Field(
        default=None, description="folder of the journal; none: nothing is recorded"
    )
    # A restarted controller plans the newest file again, so that a file should not hold more than some hours.
    max_bytes: Annotated[Count, Field(ge=4096)] = Field(default=8 * 2**20, description="no file is larger")
    keep: Annotated[Count, Field(ge=1)] = Field(default=20, description="never more files; the oldest are dropped")


class PageSettings(_Section):
    """The page that shows the run while it goes on, and may control it."""

    serve: bool = Field(default=False, description="serve it")
    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="address that it is served on; one that others can reach needs a token, for looking too",
    )
    names: Annotated[tuple[str, ...], BeforeValidator(_split)] = Field(
        default=(), description="other names that it may be asked by, such as that of a proxy; others are refused"
    )
    token: Annotated[Path | None, Nothing] = Field(
        default=None,
        description="file with the token that controls the run from the page, for its owner alone; made if there is "
        "none; none: the page only shows",
    )
    port: Annotated[Annotated[Count, Field(ge=1, le=65535)] | None, Nothing] = Field(
        default=None, description="its port; none: 8620, or the next that is free"
    )

    @model_validator(mode="after")
    def _is_guarded(self) -> "PageSettings":
        if self.token is None and self.host not in ("localhost", "::1") and not self.host.startswith("127."):
            raise ValueError(f"host {self.host} can be reached by others, who need a token to look: set page.token too")
        return self


class Kafka(_Section):
    """What is asked of Kafka itself."""

    probe: bool = Field(
        default=True,
        description="ask brokers for the newest offsets, with each query's own options; false: only what Spark reports",
    )


class Settings(_Section):
    """Everything a run can be told. The names are the paths in YAML, `spark.elastream.*` and `ELASTREAM_*`."""

    policy: str = Field(default="foresight", min_length=1, description="what decides, by name")
    policy_settings: dict[str, Any] = Field(default_factory=dict, description="the policy's own settings")
    executors: ExecutorSettings = ExecutorSettings()
    slo: SloSettings = SloSettings()
    tick_s: Seconds = Field(default=5.0, description="time between two looks")
    max_age_s: Annotated[Seconds | None, Nothing] = Field(
        default=None, description="a measurement older than this is unknown; none: three ticks"
    )
    guards: dict[str, dict[str, Any]] = Field(default_factory=dict, description="guards and their settings")
    journal: JournalSettings = JournalSettings()
    page: PageSettings = PageSettings()
    kafka: Kafka = Kafka()
    probes: dict[str, str] = Field(
        default_factory=dict,
        description="who knows the lag of a source: the class of its stream -> package.module:Class of a probe",
    )

    @field_validator("policy")
    @classmethod
    def _policy_is_one_name(cls, policy: str) -> str:
        if "(" in policy:
            raise ValueError("a policy is a name here; write its settings as policy_settings.KEY")
        if "," in policy:
            raise ValueError("one policy decides; name one")
        return policy

    @field_validator("probes")
    @classmethod
    def _probes_are_classes(cls, probes: dict[str, str]) -> dict[str, str]:
        for stream, path in probes.items():
            if not is_class_path(path):
                raise ValueError(f"the probe of {stream} is {path!r}; name a class as package.module:Class")
        return probes

    @model_validator(mode="after")
    def _guards_exist(self) -> "Settings":
        try:
            build_guards(self.guards)
        except BadInput as wrong:
            raise ValueError(str(wrong)) from None
        return self

    def build_guards(self) -> dict[str, Guard[Any]]:
        """The guards of this run."""
        return build_guards(self.guards)


def section(name: str) -> type[BaseModel] | None:
    """The model behind a name such as `executors`, or None if it is a plain value."""
    annotation = Settings.model_fields[name].annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def leaves(settings: Settings) -> Mapping[str, object]:
    """Path -> value of everything but the probes and the guards' and the policy's own settings."""
    found: dict[str, object] = {}
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, BaseModel):
            found |= {f"{name}.{key}": getattr(value, key) for key in type(value).model_fields}
        elif name not in ("guards", "policy_settings", "probes"):
            found[name] = value
    return found
