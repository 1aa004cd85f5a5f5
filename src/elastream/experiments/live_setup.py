"""What a live run is made of, built and checked before anything is started."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from elastream.core.bounds import spell_bounds
from elastream.core.errors import BadInput
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.development.cluster.finder import Master, read_master
from elastream.development.emulated_capacity import EmulatedCapacity
from elastream.development.time_scale import TimeScale
from elastream.experiments.experiment import Experiment, LiveJob
from elastream.jobs.catalogue import jobs
from elastream.jobs.job import Job, query_name
from elastream.jobs.output import check_sink
from elastream.jobs.running import events_to_come
from elastream.jobs.settings import read_limit
from elastream.jobs.topic_names import Topics
from elastream.jobs.topics import Held, look_at_topics
from elastream.policies import policies
from elastream.spark.observe.observer import provided
from elastream.spark.scale.managers import Standalone
from elastream.workloads import parse_workload


@dataclass(frozen=True, kw_only=True)
class LiveSetup:
    """A live experiment with its parts built."""

    experiment: Experiment
    subject: LiveJob
    job: Job
    executors: tuple[int, int]
    capacity: EmulatedCapacity | None
    """What slots are limited to; None: the work is real."""
    scale: TimeScale
    trigger_s: float | None
    master: Master | None
    """An external cluster; None: one of our own, for as long as the run lasts."""
    sink: str
    topics: Topics | None
    """Where events come from and results go to, if that is Kafka."""
    held: Held | None
    """What the topics held before the run."""
    policy: Policy[Any]
    events: Mapping[str, str]
    """More options of the events."""
    warm_up: bool

    @property
    def start(self) -> int:
        """With how many executors the load begins: the fewest, if nothing is said."""
        given = self.experiment.executors.start
        return self.executors[0] if given is None else given

    @property
    def name(self) -> str:
        """Of the query."""
        return query_name(self.job)

    @property
    def reads_topics(self) -> bool:
        """Whether events are those of topics, and none are generated."""
        return self.topics is not None and bool(self.topics.read)

    @property
    def options(self) -> dict[str, str]:
        """Of the events of the whole job."""
        return {
            **self.job.result.flush,
            "workload": self.experiment.workload,
            "seed": str(self.experiment.seed),
            "duration": f"{self.experiment.duration_s * self.scale.factor}s",
            # As many as the largest size has slots: a task has a cost of its own, which a few cores feel.
            "partitions": str(self.executors[1]),
            **({"rowsPerBatch": str(self.read_limit)} if self.read_limit is not None else {}),
            **self.events,
            "timeFactor": str(self.scale.factor),
        }

    def provided(self) -> tuple[str, AbstractSet[Signal]]:
        """The platform, and what it provides on a standalone cluster."""
        return "spark", provided(Standalone(), emulated=self.capacity is not None)

    @property
    def read_limit(self) -> int | None:
        """What a batch may read, where it is known what the largest size can stand."""
        return None if self.capacity is None else read_limit(self.capacity.rows_per_s * self.executors[1])


def set_up_live(experiment: Experiment, *, create: bool = False) -> LiveSetup:
    """Build the parts of a live experiment, and check everything before anything is started.

    With `create`, topics that are to be written are made if they are not there.
    """
    subject, bounds = experiment.subject, experiment.executors
    if not isinstance(subject, LiveJob):
        raise BadInput(f"experiment: a model runs on the simulator and not live: {subject.model}")
    if bounds.min is None or bounds.max is None:
        raise BadInput("experiment: executors: a live run needs both bounds, min and max")
    if bounds.start is not None and not bounds.min <= bounds.start <= bounds.max:
        raise BadInput(f"experiment: start: found {bounds.start}; it must be {spell_bounds(bounds.min, bounds.max)}")
    scale = TimeScale(factor=subject.time_factor)
    policy = policies.build(experiment.policy.name, experiment.policy.settings)
    scale.require(
        tick_s=scale.workload_s(experiment.tick_s),
        interval_s=scale.workload_s(policy.interval_s),
        trigger_s=None if subject.trigger_s is None else scale.workload_s(subject.trigger_s),
    )
    topics, job = subject.topics, jobs.build(subject.job.name, subject.job.settings)
    check_sink(subject.sink, {} if topics is None else topics.sink_options)
    capacity = subject.capacity_rps
    setup = LiveSetup(
        experiment=experiment,
        subject=subject,
        job=job,
        executors=(bounds.min, bounds.max),
        capacity=None if capacity is None else EmulatedCapacity(rows_per_s=capacity, scale=scale),
        scale=scale,
        trigger_s=subject.trigger_s,
        master=read_master(subject.master) if subject.master is not None else None,
        sink=subject.sink,
        topics=topics,
        held=None if topics is None else look_at_topics(job, topics, create=create),
        policy=policy,
        events=dict(subject.events),
        warm_up=subject.warm_up,
    )
    if not setup.reads_topics:
        # A load that cannot be drawn, and options that no events can be made with, are told now.
        load = parse_workload(experiment.workload)
        load.series(duration_s=scale.workload_s(experiment.duration_s), seed=experiment.seed)
        events_to_come(setup.job, setup.options)
    return setup
