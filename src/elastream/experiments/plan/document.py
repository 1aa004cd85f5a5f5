"""What stands in a plan's file, typed. `matrix.py` makes experiments of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from elastream.experiments.plan.fields import (
    Bounds,
    BoundsAxis,
    Capacity,
    Count,
    CountAxis,
    Duration,
    DurationAxis,
    Factor,
    FaultsAxis,
    GuardsAxis,
    Labels,
    PolicyAxis,
    Promise,
    Share,
    SloAxis,
    Space,
    TextAxis,
    Texts,
    TriggerAxis,
    TriggerTime,
    ValueRange,
    WorkloadAxis,
)

AXES = (
    "draw", "model", "job", "workload", "slo", "faults", "trigger", "executors", "slots", "start", "guards", "tick",
    "duration", "policy",
)  # fmt: skip
"""In which order experiments stand; the policy last, so that those that are compared stand side by side."""
MOST_OPEN = 8
"""More open values than that cannot be drawn evenly by a few dozen draws."""
MOST_DRAWS = 10_000

MOST_REPETITIONS = 10_000
MOST_TRIALS, MOST_FOLDS = 10_000, 100
TICK_S, DURATION_S = 5.0, 140 * 60.0


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class What(_Part):
    """What is measured."""

    model: TextAxis = Field(default={}, description="models of the simulator, by name or YAML file")
    job: TextAxis = Field(default={}, description="jobs on real executors, with settings")
    workload: WorkloadAxis = Field(default={}, description="loads as text")
    traces: Texts = Field(default=[], description="recorded loads: paths, with * and ?; each file is one load")
    absent: Literal["fail", "skip"] = Field(default="fail", description="what becomes of recorded loads that lack")
    peak: Share | None = Field(
        default=None,
        description="each load is scaled so that its highest rate is this share of what the largest size can do",
    )
    slo: SloAxis = Field(default={}, description="promises: 30s, or 95% within 30s")
    faults: FaultsAxis = Field(default={}, description="what goes wrong; a mapping names several sets")

    @model_validator(mode="after")
    def _has_both(self) -> What:
        if bool(self.model) == bool(self.job):
            raise ValueError("it needs a model (simulator) or a job (spark), and not both")
        if not self.workload and not self.traces:
            raise ValueError("it needs a workload, or traces")
        return self


class Live(_Part):
    """What only runs on Spark have."""

    time_scale: Factor = Field(default=1.0, alias="time-scale", description="the load's time passes so much faster")
    capacity: Capacity = Field(default=None, description="rows/s that a slot is limited to, or real, where it is not")
    master: str | None = Field(default=None, description="a cluster to use as it is; without it one is started")
    sink: str = Field(default="parquet", description="where output goes; what parquet holds is compared, row by row")
    options: dict[str, str | int | float | bool] = Field(default={}, description="options of the events")
    cold: bool = Field(default=False, description="the query does not run over a few events first")


class How(_Part):
    """How it is measured."""

    platform: Literal["simulator", "spark"] = Field(default="simulator", description="where it runs")
    policy: PolicyAxis = Field(description="what decides, with settings")
    guards: GuardsAxis = Field(default={}, description="guards; a mapping names several sets")
    executors: BoundsAxis = Field(default={}, description="bounds, such as 1..12")
    start: CountAxis = Field(default={}, description="executors at the start")
    slots: CountAxis = Field(default={}, description="slots of an executor (simulator)")
    trigger: TriggerAxis = Field(default={}, description="time between batches, or asap")
    tick: DurationAxis = Field(default={"5s": TICK_S}, description="time between two looks")
    duration: DurationAxis = Field(default={"140m": DURATION_S}, description="how long a run lasts")
    repetitions: Annotated[int, Field(ge=1, le=MOST_REPETITIONS, strict=True)] | None = Field(
        default=None, description="runs of each experiment, with seeds 0, 1, ..."
    )
    seeds: list[Annotated[int, Field(ge=0, lt=2**32, strict=True)]] = Field(
        default=[], description="the seeds themselves"
    )
    least_size: bool = Field(
        default=False,
        alias="least-size",
        description="find the smallest fixed size that keeps the SLO under each load, to compare with (simulator)",
    )
    optimum: bool = Field(
        default=False,
        description="find what keeping the SLO would have cost with the future known, to compare with (simulator)",
    )
    live: Live = Field(default=Live(), description="what only runs on spark have")

    @model_validator(mode="after")
    def _has_one_kind_of_seeds(self) -> How:
        if self.seeds and self.repetitions is not None:
            raise ValueError("it has both seeds and repetitions; one of them says how often")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: one stands twice")
        return self

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """One per repetition, the same for all experiments, so that they are compared in pairs."""
        return tuple(self.seeds or range(self.repetitions or 1))


class Exclusion(_Part):
    """Experiments that are left out: those that have all of these labels."""

    where: Labels = Field(description="axis -> label, or labels", min_length=1)
    why: str = Field(description="told in the report", min_length=1)


class Values(_Part):
    """Single values in place of those of the plan."""

    slo: Promise | None = None
    peak: Share | None = None
    executors: Bounds | None = None
    start: Count | None = None
    slots: Count | None = None
    trigger: TriggerTime | None = None
    tick: Duration | None = None
    duration: Duration | None = None
    capacity: Capacity = None


class Override(_Part):
    """Experiments that differ from the others: those that have all of these labels get these values."""

    where: Labels = Field(description="axis -> label, or labels", min_length=1)
    set: Values = Field(description="key -> value")


class Draws(_Part):
    """Values that are drawn, because nobody tells them."""

    draws: Annotated[int, Field(ge=1, le=MOST_DRAWS, strict=True)] | None = Field(
        default=None, description="how many draws of the open values; everything is run in each"
    )
    open: dict[str, ValueRange] = Field(
        default={},
        description="name -> range that it is drawn from; `{name}` below what, how and cases is its value",
        max_length=MOST_OPEN,
    )

    @model_validator(mode="after")
    def _has_both(self) -> Draws:
        if (self.draws is None) != (not self.open):
            raise ValueError("draws and open go together: how many, and of what")
        return self


class Search(_Part):
    """Which settings of policies `elastream tune` looks for, and how."""

    settings: dict[str, Annotated[dict[str, Space], Field(min_length=1)]] = Field(
        description="policy -> setting -> range, or list of choices", min_length=1
    )
    by: Literal["grid", "random", "optuna"] = Field(default="random", description="how settings are picked")
    trials: Annotated[int, Field(ge=2, le=MOST_TRIALS, strict=True)] = Field(
        default=30,
        description="settings that are tried of each policy on each part of the loads, those of the plan among them",
    )
    folds: Annotated[int, Field(ge=1, le=MOST_FOLDS, strict=True)] | None = Field(
        default=None, description="loads are dealt into so many parts, and each is scored by what was tuned on others"
    )
    held_out: Texts = Field(
        default=[], alias="held-out", description="loads that are scored and never tuned on, by label, with * and ?"
    )
    recordings: dict[str, Texts] = Field(
        default={}, description="recording -> loads that were cut from it, with * and ?; they are never parted"
    )
    seed: Annotated[int, Field(ge=0, lt=2**32, strict=True)] = Field(
        default=0, description="of what is picked and dealt by chance"
    )

    @model_validator(mode="after")
    def _has_one_kind_of_parts(self) -> Search:
        if self.held_out and self.folds is not None:
            raise ValueError("it has both folds and held-out; one of them says which loads are not tuned on")
        return self


class PlanDocument(Draws):
    """A plan as it stands in its file, with what it includes."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] | None = Field(
        default=None, description="of the plan; without it that of its file"
    )
    about: str = Field(default="", description="what it answers, for the report")
    include: Texts = Field(default=[], description="plans whose keys hold where this one says nothing")
    what: What
    how: How
    exclude: list[Exclusion] = Field(default=[], description="what the lists multiply to and is not run")
    cases: list[Override] = Field(default=[], description="values for some of the experiments only")
    search: Search | None = Field(default=None, description="settings of policies that `elastream tune` looks for")
    calibrate: Labels = Field(
        default={}, description="axis -> label, or labels, of the run of each job that `elastream fidelity` goes by"
    )


def matches(where: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> bool:
    """Whether an experiment has one of the labels named for each axis; a policy's name stands for all its forms."""
    return all(
        axis in labels and any(wanted in (labels[axis], labels[axis].partition("(")[0]) for wanted in names)
        for axis, names in where.items()
    )
