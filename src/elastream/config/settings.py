"""The settings of a run, typed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from elastream.config.guards import build_guards
from elastream.config.prometheus import check_address, check_question, compile_label
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


class LogSettings(_Section):
    """How decisions are told."""

    format: Literal["text", "json"] = Field(
        default="text", description="json: a line of JSON for each decision, with stable keys, to stderr"
    )


class Kafka(_Section):
    """What is asked of Kafka itself."""

    probe: bool = Field(
        default=True,
        description="ask brokers for the newest offsets, with each query's own options; false: only what Spark reports",
    )


Text = Annotated[Annotated[str, Field(min_length=1)] | None, Nothing]


class PrometheusSettings(_Section):
    """What is asked of a Prometheus server that Spark does not know. Nothing, unless there is an address."""

    url: Text = Field(
        default=None, description="address of the server, such as http://prometheus:9090; none: not asked"
    )
    token_file: Annotated[Path | None, Nothing] = Field(default=None, description="file with a bearer token")
    user: Text = Field(default=None, description="who asks, where a name and a password are wanted")
    password_file: Annotated[Path | None, Nothing] = Field(default=None, description="file with the password")
    every_s: Seconds = Field(default=5.0, description="time between two questions")
    timeout_s: Seconds = Field(default=5.0, description="an answer that takes longer is none")
    window_s: Seconds = Field(default=60.0, description="samples of this time are asked: several times between scrapes")
    cpu: Text = Field(
        default=None, description="PromQL: a counter of processor seconds, or an expression in processors"
    )
    cpu_times: Text = Field(default=None, description="PromQL that says when the parts of an expression were scraped")
    memory: Text = Field(default=None, description="PromQL: memory in use, in bytes")
    memory_times: Text = Field(default=None, description="the same for memory")
    lag: Text = Field(default=None, description="PromQL: records that wait, of sources that cannot be asked otherwise")
    lag_times: Text = Field(default=None, description="the same for lag")
    executor_label: str = Field(default="pod", min_length=1, description="the label that names the executor")
    executor_pattern: str = Field(
        default=r".*-exec-(\d+)", description="what of its value does: a regular expression, its group or all of it"
    )
    executor_is: Literal["id", "host"] = Field(
        default="id", description="whether that is the id of an executor, or the host on which one runs"
    )
    query_label: Text = Field(
        default=None, description="the label that holds the name of a lag's query; none: there is one query"
    )

    @field_validator("url")
    @classmethod
    def _url_is_an_address(cls, url: str | None) -> str | None:
        return None if url is None else check_address(url)

    @model_validator(mode="after")
    def _asks_something(self) -> "PrometheusSettings":
        asked = {"cpu": self.cpu_times, "memory": self.memory_times, "lag": self.lag_times}
        for name, times in asked.items():
            check_question(name, getattr(self, name), times)
        compile_label(self.executor_pattern)
        has_question = any(getattr(self, name) is not None for name in asked)
        if (self.url is None) == has_question:
            told = "url is set and no question" if self.url else "there is a question and no url"
            raise ValueError(
                f"{told}; set prometheus.url and one of {', '.join(f'prometheus.{name}' for name in asked)}"
            )
        if (self.user is None) != (self.password_file is None) or (
            self.user is not None and self.token_file is not None
        ):
            raise ValueError("set token_file, or user and password_file, or neither")
        return self


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
    log: LogSettings = LogSettings()
    kafka: Kafka = Kafka()
    prometheus: PrometheusSettings = PrometheusSettings()
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
