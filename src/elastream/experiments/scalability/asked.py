"""What a scalability experiment is asked to do, checked before anything is started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

from elastream.core.decision import Json
from elastream.core.errors import BadInput
from elastream.experiments.scalability.layout import (
    MEMORY_PER_CORE,
    Layout,
    Work,
    default_layouts,
    order_layouts,
    why_unfit,
)
from elastream.experiments.scalability.probe import ProbeTerms
from elastream.experiments.scalability.search import RateSearch

DELAYS_S: Mapping[str, float] = MappingProxyType({"aggregation": 60.0})
"""Bounds of the median delay that are published for a job; others have that of enrichment."""
DELAY_S = 10.0
TRIGGERS_S: Mapping[str, float] = MappingProxyType({"aggregation": 60.0})
"""Published; others begin a batch as soon as the one before has ended."""
LEAST_BATCHES = 10
"""A slope over fewer backlogs may be anything: in five minutes with a trigger of one, four workers seemed to sustain a
quarter of what six did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptOrder:
    """A script over a topic, and who writes the topic."""

    topic: str
    bootstrap: str
    arguments: tuple[str, ...] = ()
    source: str | None = None
    producer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalabilityOrder:
    """All of it, as plain values: what decides the results, and where they may be had."""

    job: str
    work: Work
    layouts: tuple[Layout, ...] = ()
    """None: both directions of the document, as far as they fit."""
    delay_s: float | None = None
    processor: float = 0.8
    accept_after_s: float = 300.0
    warm_up_s: float = 30.0
    start_rps: float = 1_000.0
    least_rps: float = 10.0
    most_rps: float | None = None
    precision: float = 0.1
    repeat: int = 3
    rates: tuple[float, ...] = ()
    memory: str = MEMORY_PER_CORE
    """Of a worker, for each of its cores."""
    trigger_s: float | None = None
    """None: as fast as possible."""
    slot_rps: float | None = None
    """What slots are limited to, where they are emulated."""
    seed: int = 0
    events: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    """Of simulated layouts."""
    master: str | None = None
    """A cluster that exists; None: one is started for each layout."""
    script: ScriptOrder | None = None
    """Somebody's script, where the job is one."""

    def __post_init__(self) -> None:
        for name, value in (("--accept-after", self.accept_after_s), ("--delay", self.bound_s)):
            if value <= 0:
                raise BadInput(f"{name}: found {value:g}; it must be more than 0")
        if not 0 < self.processor <= 1:
            raise BadInput(f"--processor: found {self.processor:g}; it must be a share such as 0.8")
        # What makes no sense there is told now.
        _ = self.rate_search

    @property
    def bound_s(self) -> float:
        """Of the median delay."""
        return self.delay_s if self.delay_s is not None else DELAYS_S.get(self.job, DELAY_S)

    @property
    def rate_search(self) -> RateSearch:
        """How to look for the highest rate."""
        most = {} if self.most_rps is None else {"most_rps": self.most_rps}
        return RateSearch(
            start_rps=self.start_rps, least_rps=min(self.least_rps, self.start_rps), precision=self.precision,
            repeat=self.repeat, rates=self.rates, **most,
        )  # fmt: skip

    @property
    def terms(self) -> ProbeTerms:
        """Of a probe; its rate and its size come with it."""
        return ProbeTerms(
            rate_rps=self.start_rps, workers=1, cores=1, delay_s=self.bound_s, processor=self.processor,
            accept_after_s=max(self.accept_after_s, LEAST_BATCHES * (self.trigger_s or 0.0)),
            warm_up_s=self.warm_up_s, interval_s=self.trigger_s,
            host_cores=count_cores() if self.work != "simulated" and self.master is None else None,
            is_emulated=self.work == "emulated",
        )  # fmt: skip

    def choose_layouts(self) -> tuple[tuple[Layout, ...], tuple[str, ...]]:
        """Those that can be had, the smallest first, and why the others cannot; BadInput if there are none."""
        wanted = order_layouts(self.layouts or default_layouts())
        if self.work == "emulated" and not self.layouts:
            # Slots that sleep say nothing about a worker's cores.
            wanted = tuple(one for one in wanted if one.cores == 1)
        if self.work == "simulated" or self.master is not None:
            return wanted, ()
        why = {one: why_unfit(one, per_core=self.memory, cores=count_cores(), memory_mib=find_memory_mib(),
                              work=self.work) for one in wanted}  # fmt: skip
        fit = tuple(one for one, reason in why.items() if reason is None)
        left_out = tuple(reason for reason in why.values() if reason is not None)
        if not fit:
            raise BadInput(f"--layouts: none fits this machine: {left_out[0]}")
        return fit, left_out

    def as_json(self) -> dict[str, Json]:
        """What decides the results: a folder holds probes of one such experiment."""
        plain: dict[str, Json] = asdict(self)
        # More layouts, other rates to begin with and another precision ask for more of the same.
        for name in ("layouts", "start_rps", "least_rps", "most_rps", "precision", "repeat", "rates"):
            del plain[name]
        return {**plain, "accept_after_s": self.terms.accept_after_s}


def count_cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def find_memory_mib() -> int:
    """That the machine has free for new processes; all of it where that is not told."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 (a file of the kernel)
            told = dict(line.split(":", 1) for line in file)
        return int(told["MemAvailable"].split()[0]) // 1024
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
