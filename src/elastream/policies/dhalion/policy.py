"""Dhalion: symptoms, diagnoses, resolutions (Floratou et al., VLDB 2017), as evaluated by Kanis (TU Delft 2023).

Three steps, and each can be read in the decision: detectors find symptoms (`symptoms`), diagnosers explain them
(`diagnoses`), resolvers act. The bottleneck is the first operator downstream that is not back-pressured itself while
what feeds it is; it grows by the factor 1 + bp / (1 - bp), where bp is the largest back-pressure among what feeds it, a
source by 1 + growth of lag / throughput. Without any back-pressure every operator with an empty queue shrinks to
n x (2 - f), rounded down. Skew is diagnosed and told, and not scaled: more instances do not help a hot key.

One bottleneck at a time, as published; a resolution that did not help is blacklisted for a while. Beyond the paper, the
thesis' two proposals are settings: `several` operators at once, and shrinking `down_by` processor use. `dhalion-kanis`
is what the thesis deployed (every 15 s, no blacklist); `dhalion-heron` is what Heron ships: every minute, three minutes
after a change, at most five times as large at once, and no way down. The cap on back-pressure is that of the thesis'
code; without one the factor has no limit.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypedDict

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool
from elastream.core.signals import Signal
from elastream.estimators.left_behind import Behind, watched
from elastream.policies.catalogue import policies
from elastream.policies.dhalion.diagnoses import Diagnosis, diagnose
from elastream.policies.dhalion.symptoms import (
    Measured,
    Measurements,
    Symptom,
    SymptomLimits,
    Unknown,
    detect,
    measure,
    share_of_time,
)
from elastream.registry import setting

# A scale-up after which the operator takes in no more than this many times as much did nothing.
_HELPED = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What is done about one operator."""

    action: Literal["up", "down"]
    operator: str
    pool: str
    factor: float
    before: int
    after: int

    def words(self) -> str:
        """For a person."""
        return f"{self.operator} {self.before} x {self.factor:.2f} = {self.after}"


class DhalionMemory(TypedDict):
    """What is remembered from look to look."""

    behind: dict[str, Behind]
    judged_s: float | None
    """When the last decision that was taken in was made."""
    tried: list[dict[str, Any]]
    """The resolutions of that decision that were carried out."""
    failed: dict[str, list[float]]
    """Remedy ('up count') -> how often in a row it did not help, and when it was last seen not to."""


@policies.register("dhalion")
@dataclass(frozen=True, kw_only=True)
class Dhalion:
    """Find the bottleneck by back-pressure and enlarge it; shrink what has an empty queue."""

    scale_down_factor: float = setting(1.2, doc="an operator with an empty queue shrinks to n x (2 - this); 1: never")
    lag_rate_rps: float = setting(1_000.0, doc="a log that grows faster is back-pressured")
    lag_close_to_zero: float = setting(10_000.0, doc="records in the log up to which a source has an empty queue")
    queue_close_to_zero: float = setting(0.2, doc="share of its buffer up to which an operator's queue is empty")
    queue_close_to_zero_s: float = setting(
        1.0, doc="seconds of its own input up to which it is, where nobody tells how much the buffer holds"
    )
    backpressured_above: float = setting(0.02, doc="share of time below which back-pressure is noise")
    most_backpressure: float = setting(0.9, doc="back-pressure counts up to this share, or factors have no limit")
    most_growth: float | None = setting(None, doc="at most n x (1 + this) at once; without it, no such limit")
    rate_skew: float = setting(1.5, doc="fastest over slowest worker from which processing rates are skewed")
    queue_skew: float = setting(20.0, doc="longest over shortest queue from which queues are skewed")
    several: bool = setting(False, doc="enlarge all bottlenecks, and what they would overload next, at once")
    down_by: Literal["factor", "cpu"] = setting("factor", doc="shrink by the factor, or to where cpu_target is met")
    cpu_target: float = setting(0.7, doc="processor use that shrinking by cpu aims at")
    blacklist_after: int | None = setting(2, doc="failures in a row after which a resolution is blacklisted, or none")
    blacklist_s: float = setting(3600.0, doc="how long it stays blacklisted")
    settle_s: float = setting(0.0, doc="how long a change is given before the next one")
    window_s: float = setting(60.0, doc="measurements are means over this time")
    interval_s: float = setting(300.0, doc="how often to decide")

    def __post_init__(self) -> None:
        if not 1 <= self.scale_down_factor < 2:
            raise BadInput(
                f"policy dhalion: scale_down_factor is {self.scale_down_factor:g}; it must be at least 1 and below 2"
            )
        if not 0 < self.most_backpressure < 1:
            raise BadInput(
                f"policy dhalion: most_backpressure is {self.most_backpressure:g}; it must lie between 0 and 1"
            )
        if self.cpu_target <= 0:
            raise BadInput(f"policy dhalion: cpu_target is {self.cpu_target:g}; it must be above 0")

    @property
    def needs(self) -> tuple[Need, ...]:
        """Lag, back-pressure and queues; with the proposals of the thesis also busy time and processor use."""
        needs = [
            Need(Signal.ARRIVED),
            Need(Signal.COMMITTED),
            Need(Signal.BACKPRESSURE_TIME, stand_ins=(Signal.BATCHES,)),
            Need(Signal.QUEUE, stand_ins=(Signal.BATCHES,)),
        ]
        if self.several:
            needs.append(Need(Signal.BUSY_TIME))
        if self.down_by == "cpu":
            needs.append(Need(Signal.WORKER_CPU, stand_ins=(Signal.BUSY_SLOTS,)))
        return tuple(needs)

    def start(self) -> DhalionMemory:
        """Nothing was seen or tried."""
        return {"behind": {}, "judged_s": None, "tried": [], "failed": {}}

    def learn(self, memory: DhalionMemory, now: Observation, last: Decision | None) -> DhalionMemory:
        """Follow the lag; judge what was tried by the diagnosis that came after it."""
        behind = {query.id: watched(memory["behind"].get(query.id), query) for query in now.queries}
        after: DhalionMemory = {**memory, "behind": behind}
        if last is None or last.made_s is None or last.made_s == memory["judged_s"] or last.kind == "hold":
            return after
        failed = _judged(memory, _listed(last, "diagnoses"), last.made_s)
        return {**after, "judged_s": last.made_s, "tried": _carried_out(last), "failed": failed}

    def decide(self, now: Observation, known: Knowledge, memory: DhalionMemory) -> Decision:
        """Symptoms, diagnoses, resolutions."""
        changed_s = known.last_action_s()
        if changed_s is not None and now.at_s - changed_s < self.settle_s:
            return Decision.keep(now, f"the change {now.at_s - changed_s:.0f} s ago is given {self.settle_s:g} s")
        try:
            measured = measure(now, known, memory["behind"], self._limits())
            symptoms = detect(measured, self._limits())
            diagnoses = diagnose(measured, symptoms, several=self.several)
            failed = _judged(memory, [asdict(diagnosis) for diagnosis in diagnoses], now.at_s)
            resolutions = self._allowed(self.resolve(diagnoses, measured, now, known), failed, now.at_s)
        except Unknown as unknown:
            return Decision.hold(now, str(unknown))
        allocation = _allocation(resolutions, measured, now)
        evidence = _evidence(symptoms, diagnoses, resolutions, measured)
        note = {step: evidence[step] for step in ("diagnoses", "resolutions")}
        reason = _reason(symptoms, diagnoses, resolutions)
        if allocation == now.wanted():
            return Decision.keep(now, reason, evidence, note)
        return Decision(allocation=allocation, reason=reason, evidence=evidence, note=note)

    def resolve(
        self, diagnoses: tuple[Diagnosis, ...], measured: Measurements, now: Observation, known: Knowledge
    ) -> tuple[Remedy, ...]:
        """The third step: what to do about the diagnoses. Skew has no resolver."""
        operators = {one.name: one for one in measured.operators}
        resolutions: dict[str, Remedy] = {}
        for diagnosis in diagnoses:
            one = operators[diagnosis.operator]
            if diagnosis.kind == "under-provisioned":
                up = self._up(one, self.factor(diagnosis.pressure), now.pool(one.pool))
                resolutions[one.name] = up
                if self.several:
                    resolutions |= self._overloaded_next(up, measured, now, known, resolutions)
            elif diagnosis.kind == "over-provisioned" and self.scale_down_factor > 1:
                resolutions[one.name] = self._down(one, now.pool(one.pool), known)
        return tuple(resolutions.values())

    def factor(self, pressure: float) -> float:
        """1 + bp / (1 - bp): what could not be handled over what could. The same as 1 + lag rate / throughput where bp
        is the share of what arrives that was not taken in."""
        share = min(pressure, self.most_backpressure)
        growth = share / (1 - share)
        return 1 + (growth if self.most_growth is None else min(growth, self.most_growth))

    def _up(self, one: Measured, factor: float, pool: Pool) -> Remedy:
        before = max(1, pool.ready)
        # Arithmetic may leave 10.000000000000002 of what is ten.
        after = math.ceil(before * factor - 1e-9)
        return Remedy(
            action="up", operator=one.name, pool=pool.name, factor=factor, before=before, after=max(after, pool.wanted)
        )

    def _down(self, one: Measured, pool: Pool, known: Knowledge) -> Remedy:
        before = max(1, pool.ready)
        factor = 2 - self.scale_down_factor
        if self.down_by == "cpu":
            factor = min(1.0, self._cpu(pool, known) / self.cpu_target)
        after = math.ceil(before * factor - 1e-9) if self.down_by == "cpu" else math.floor(before * factor + 1e-9)
        return Remedy(
            action="down", operator=one.name, pool=pool.name, factor=factor, before=before, after=max(1, after)
        )

    def _cpu(self, pool: Pool, known: Knowledge) -> float:
        if Signal.WORKER_CPU not in known.provides:
            use = known.busy_share(pool, self.window_s)
        else:
            means = [
                mean
                for worker in pool.workers
                if worker.state == "ready"
                and (mean := known.mean(Signal.WORKER_CPU, f"{pool.name}/{worker.id}", self.window_s)) is not None
            ]
            use = sum(means) / len(means) if means else None
        if use is None:
            raise Unknown(f"processor use of {pool.name} is not known")
        return use

    def _overloaded_next(
        self,
        up: Remedy,
        measured: Measurements,
        now: Observation,
        known: Knowledge,
        so_far: Mapping[str, Remedy],
    ) -> dict[str, Remedy]:
        """What is below a bottleneck and would be the next one, once that much more comes through."""
        below, found = {up.operator}, {}
        for one in measured.operators:
            if not below & set(one.above):
                continue
            below.add(one.name)
            pool = now.pool(one.pool)
            busy = share_of_time(Signal.BUSY_TIME, one.subject, pool, known, self.window_s)
            if busy is None:
                raise Unknown(f"busy time of {one.name} is not known")
            demand = busy * up.factor
            if demand > 1 and one.name not in so_far:
                found[one.name] = self._up(one, demand, pool)
        return found

    def _allowed(
        self, resolutions: tuple[Remedy, ...], failed: Mapping[str, list[float]], now_s: float
    ) -> tuple[Remedy, ...]:
        """Those that are not blacklisted."""

        def is_allowed(resolution: Remedy) -> bool:
            times, at_s = failed.get(f"{resolution.action} {resolution.operator}", (0.0, 0.0))
            return self.blacklist_after is None or times < self.blacklist_after or now_s - at_s >= self.blacklist_s

        return tuple(resolution for resolution in resolutions if is_allowed(resolution))

    def _limits(self) -> SymptomLimits:
        return SymptomLimits(
            window_s=self.window_s,
            backpressure=self.backpressured_above,
            lag_rps=self.lag_rate_rps,
            lag_records=self.lag_close_to_zero,
            queue_share=self.queue_close_to_zero,
            queue_s=self.queue_close_to_zero_s,
            rate_skew=self.rate_skew,
            queue_skew=self.queue_skew,
        )


def _allocation(resolutions: tuple[Remedy, ...], measured: Measurements, now: Observation) -> dict[str, int]:
    """A pool that runs several operators grows with the largest of them, and shrinks if all of them may."""
    asked: dict[str, list[int]] = {pool.name: [] for pool in now.pools}
    for resolution in resolutions:
        asked[resolution.pool].append(resolution.after)
    count = {pool.name: sum(one.pool == pool.name for one in measured.operators) for pool in now.pools}
    allocation = now.wanted()
    for pool in now.pools:
        sizes = asked[pool.name]
        if sizes and (len(sizes) == count[pool.name] or max(sizes) > pool.wanted):
            allocation[pool.name] = max(sizes)
    return allocation


def _carried_out(last: Decision) -> list[dict[str, Any]]:
    """Resolutions of a decision that guards let through, in full or in part."""
    before = {str(tried["operator"]): tried for tried in _listed(last, "resolutions")}
    return [tried for tried in before.values() if last.allocation.get(tried["pool"]) != tried["before"]]


def _judged(memory: DhalionMemory, diagnoses: list[dict[str, Any]], at_s: float) -> dict[str, list[float]]:
    """Failures in a row, with what was tried last judged by the diagnoses that came after it."""
    failed = dict(memory["failed"])
    for tried in memory["tried"]:
        name = f"{tried['action']} {tried['operator']}"
        if _did_not_help(tried, diagnoses):
            failed[name] = [failed.get(name, [0.0, 0.0])[0] + 1, at_s]
        else:
            failed.pop(name, None)
    return failed


def _did_not_help(tried: Mapping[str, Any], diagnoses: list[dict[str, Any]]) -> bool:
    """Growing did not help where the operator still is the bottleneck and takes in no more; shrinking where it became
    one."""
    for diagnosis in diagnoses:
        if diagnosis["operator"] == tried["operator"] and diagnosis["kind"] != "over-provisioned":
            return tried["action"] == "down" or bool(diagnosis["in_rps"] <= tried["in_rps"] * _HELPED)
    return False


def _listed(last: Decision, key: str) -> list[dict[str, Any]]:
    found = last.note.get(key)
    return found if isinstance(found, list) else []


def _evidence(
    symptoms: tuple[Symptom, ...],
    diagnoses: tuple[Diagnosis, ...],
    resolutions: tuple[Remedy, ...],
    measured: Measurements,
) -> dict[str, Json]:
    in_rps = {one.name: one.in_rps for one in measured.operators}
    return {
        "symptoms": [symptom._asdict() for symptom in symptoms],
        "diagnoses": [asdict(diagnosis) for diagnosis in diagnoses],
        "resolutions": [asdict(one) | {"in_rps": in_rps[one.operator]} for one in resolutions],
    }


def _reason(symptoms: tuple[Symptom, ...], diagnoses: tuple[Diagnosis, ...], resolutions: tuple[Remedy, ...]) -> str:
    seen = [
        f"{symptom.kind} at {symptom.at}" + ("" if symptom.kind == "empty queue" else f" {symptom.value:.2f}")
        for symptom in symptoms
    ]
    found = [f"{diagnosis.operator} is {diagnosis.words()}" for diagnosis in diagnoses]
    if not diagnoses:
        done = "nothing to do"
    elif resolutions:
        done = ", ".join(resolution.words() for resolution in resolutions)
    elif all(diagnosis.kind in ("data skew", "slow instance") for diagnosis in diagnoses):
        done = "more workers do not help against it"
    else:
        done = "what would be done did not help before, or is switched off"
    return f"symptoms: {', '.join(seen) or 'none'}; diagnosis: {', '.join(found) or 'healthy'}; resolution: {done}"


policies.preset(
    "dhalion-kanis",
    of="dhalion",
    doc="Dhalion as the thesis deployed it: every 15 s, nothing is blacklisted",
    interval_s=15.0,
    window_s=15.0,
    blacklist_after=None,
)
policies.preset(
    "dhalion-heron",
    of="dhalion",
    doc="Dhalion as Heron ships it: every minute, three after a change, at most five times as large, no way down",
    interval_s=60.0,
    settle_s=180.0,
    most_backpressure=0.999,
    most_growth=4.0,
    scale_down_factor=1.0,
    blacklist_after=None,
)
