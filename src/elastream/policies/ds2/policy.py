"""Three steps is all you need: DS2 (Kalavri et al., OSDI 2018).

Sizes every operator at once for the rate that arrives, from *true* rates: records per second of useful time, which an
operator that waits for others shows as well as one that is overloaded. The equations stand in `ds2.equations`; around
them the scaling manager of section 4.2.1: policy interval, warm-up, activation, target rate ratio, minor changes,
roll-back and a limit of decisions that do not help.

Where this departs from the paper:

- On a shared pool the sum is rounded, not its parts (`rounding`): on Spark, stages take turns on the same slots. A
  stage that had no turn within an interval, because batches are longer than that, is judged by its last rates for
  `remembered_s`.
- The sources of the equations are the logs. Operators that read them are sized like any other (`sources`): on Spark
  they use the slots too, and with pools of their own they are as easily too small.
- What an operator with several followers gives out is not received by each of them in full: how it is parted is
  measured. The paper's equations take a graph of single streams.
- An operator without useful time keeps its size and says so. The authors' code answers with 4294967295 or with 0.
- The target rate ratio is a query's arrival rate over the rate at which it keeps up, so that micro-batches, which
  commit in lumps, do not seem to fall short. A ratio of skew is not corrected (`most_ratio`), and a correction that
  did not help is not used again at that load; one that did stays in force there, and so does a size that was given up
  and then asked for again.
- Off unless asked for, as proposed in an evaluation of DS2 (Kanis, TU Delft 2023, section 8.3): operators that can
  never be busy all of the time (`max_busy`), and sizes that also work off the lag, that of the change to come included
  (`drain_s`). Its over-provisioning by 1.2 is `over_provision`.
- Off unless asked for, and on in `ds2-spark`: on micro-batches the published form can stay below need, because useful
  time omits the driver's time and half-empty waves of tasks, and a correction of what it proposes may be no more than
  the present size. That form counts both (`batches`), corrects from the present size (`correct`), works off the lag
  (`catch_up_s`) and shrinks once ten intervals agree (`shrink_after`).

The authors' code ignores shrinking by one (`ignore_down=1`), has no correction on line (`target_rate_ratio` very
large), and counts intervals for activation without combining them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median_high
from typing import ClassVar, Literal

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.estimators.left_behind import is_batched, period_s, records_behind, watched
from elastream.policies.catalogue import policies
from elastream.policies.ds2.actions import (
    Acted,
    DS2Change,
    achieved_share,
    changed,
    holds,
    judged,
    needed_after_all,
    nothing,
    serial,
    settled,
    with_floor,
)
from elastream.policies.ds2.correction import Corrected, from_present, from_proposal
from elastream.policies.ds2.interval import (
    Numbers,
    Totals,
    driver_times,
    growth,
    parts_of_output,
    totals,
    true_rates,
)
from elastream.policies.ds2.load import Load, Watch, load_of
from elastream.policies.ds2.memory import DS2Memory, Interval, evidence_of, unknown
from elastream.policies.ds2.sizing import Rounding, Rules, Sizing, Sources, has_own_pools, sized
from elastream.registry import setting

_LONG = 5  # intervals

_COMBINE: Mapping[str, Callable[[list[int]], int]] = {"median": median_high, "maximum": max}


@policies.register("ds2")
@dataclass(frozen=True, kw_only=True)
class DS2:
    """Enough instances of every operator for the rate that arrives, from true rates, in one step."""

    interval_s: float = setting(30.0, doc="policy interval: rates are measured over it, and it is decided at its end")
    warm_up_s: float = setting(30.0, doc="intervals that begin so soon after a change are ignored")
    warm_at_start: bool = setting(False, doc="warm up also when a run begins, as the paper's runs on Flink did")
    activation: int = setting(1, doc="intervals that are considered together before a change")
    combine: Literal["median", "maximum"] = setting("median", doc="what is made of the sizes of several intervals")
    shrink_after: int = setting(1, doc="intervals in a row that must ask for less before anything shrinks")
    target_rate_ratio: float = setting(1.0, doc="sizes are corrected if arrival rate over achieved rate exceeds this")
    most_ratio: float = setting(2.0, doc="a ratio beyond this comes from skew or a straggler and corrects nothing")
    rate_noise: float = setting(0.01, doc="a shortfall of so little is noise and not corrected; 0 in the paper")
    ignore_up: int = setting(0, doc="growing by at most so many workers is a minor change and ignored")
    ignore_down: int = setting(0, doc="shrinking by at most so many is ignored; 1 in the authors' code")
    factor: float = setting(0.0, doc="sizes times 1 + factor, before they are rounded")
    over_provision: float = setting(1.0, doc="sizes times this once they are rounded, and rounded up again")
    rounding: Rounding = setting("per_pool", doc="on a shared pool: round the sum, or every operator as in the paper")
    sources: Sources = setting("count", doc="size operators that read a log too, or leave them as in the paper")
    remembered_s: float = setting(600.0, doc="on a shared pool, how long rates stand for a stage that had no turn")
    least_gain: float = setting(0.1, doc="a change that brings less than this share of what was expected did not help")
    decision_limit: int = setting(
        3, doc="growths in a row that do not help, after which sizes stay until the load changes"
    )
    roll_back: float = setting(0.1, doc="a growth that costs more than this share of the achieved rate is taken back")
    max_busy: float = setting(1.0, doc="share of time an operator can be busy at most")
    drain_s: float | None = setting(
        None, doc="also work off the lag within this time, and what a change will add to it"
    )
    batches: Literal["ignore", "count"] = setting(
        "ignore", doc="count what slots cannot help in a micro-batch: the driver's time and half-empty waves of tasks"
    )
    correct: Literal["proposal", "present"] = setting(
        "proposal",
        doc="what a shortfall multiplies: the sizes that the equations propose, as published, or the present",
    )
    catch_up_s: float | None = setting(
        None, doc="lag that is not gone within this time is a shortfall too, and nothing shrinks while there is any"
    )
    rescale_s: float | None = setting(
        None, doc="how long a change stops the query; without it, as long as the last one took"
    )
    needs: ClassVar[tuple[Need, ...]] = (
        Need(Signal.ARRIVED), Need(Signal.RECORDS_IN), Need(Signal.RECORDS_OUT), Need(Signal.BUSY_TIME),
    )  # fmt: skip

    def __post_init__(self) -> None:
        _check("interval_s", self.interval_s > 0, "must be above 0")
        _check("activation", self.activation >= 1, "must be at least 1")
        _check("shrink_after", self.shrink_after >= 1, "must be at least 1")
        _check("target_rate_ratio", self.target_rate_ratio >= 1, "must be at least 1")
        _check("factor", self.factor >= 0, "must be at least 0")
        _check("over_provision", self.over_provision >= 1, "must be at least 1")
        _check("max_busy", 0 < self.max_busy <= 1, "must be above 0 and at most 1")
        _check("drain_s", self.drain_s is None or self.drain_s > 0, "must be above 0")
        _check("catch_up_s", self.catch_up_s is None or self.catch_up_s > 0, "must be above 0")

    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    @property
    def on_batches(self) -> str | None:
        """What it is to be known for where queries run micro-batches."""
        if self.sources == "leave":
            return "it is too small by the stages that read a source; ds2-spark is not"
        return "it may stay too small; ds2-spark does not" if self.batches == "ignore" else None

    def start(self) -> DS2Memory:
        """Nothing was measured."""
        return {
            "began": None, "is_disturbed": False, "wanted": {}, "warm_until_s": 0.0, "rates": {}, "parts": {},
            "behind": {}, "driver_s": {}, "interval": None, "proposals": [], "acted": nothing(),
        }  # fmt: skip

    def learn(self, memory: DS2Memory, now: Observation, last: Decision | None) -> DS2Memory:
        """Measure: when an interval has passed, work out what it asks for."""
        memory = self._noticed(memory, now)
        began = memory["began"]
        if any(need.signal in now.lacks for need in self.needs):
            # What was lost is in no total: no interval may begin before that and end after it.
            return {**memory, "began": None}
        if began is None:
            warm_s = self.warm_up_s if self.warm_at_start else 0.0
            return {**memory, "began": totals(now), "warm_until_s": max(memory["warm_until_s"], now.at_s + warm_s)}
        if now.at_s - began["at_s"] < self._interval_s(now) - 1e-6:
            return memory
        return self._measured(memory, began, now)

    def decide(self, now: Observation, known: Knowledge, memory: DS2Memory) -> Decision:
        """The scaling manager: whether to act on what the intervals asked for."""
        interval = memory["interval"]
        if interval is None or memory["wanted"] != now.wanted():
            return Decision.hold(now, f"no interval of {self.interval_s:g} s has been measured since the last change")
        if interval["unknown"] is not None:
            return Decision.hold(now, interval["unknown"])
        evidence, sentence = evidence_of(interval), interval["sentence"]
        back = memory["acted"]["back"]
        if back is not None:
            return Decision(
                allocation=back, reason=f"the last growth did harm and is taken back; {sentence}", evidence=evidence
            )
        seen = len(memory["proposals"])
        if seen < self.activation:
            return Decision.keep(now, f"{seen} of {self.activation} intervals before a change: {sentence}", evidence)
        allocation = self._combined(now, memory["proposals"])
        hindrance = self._hindrance(now, allocation, memory, interval)
        if hindrance is not None:
            return Decision.keep(now, f"{hindrance}: {sentence}", evidence)
        return Decision(allocation=allocation, reason=sentence, evidence=evidence)

    def _combined(self, now: Observation, proposals: list[dict[str, int]]) -> dict[str, int]:
        """Of every pool, the median or largest size that intervals asked for; less only if enough of them agree."""
        combine, last = _COMBINE[self.combine], proposals[-self.activation :]
        found = {pool.name: combine([sizes[pool.name] for sizes in last]) for pool in now.pools}
        if self.shrink_after == 1:
            return found
        is_early, lately = len(proposals) < self.shrink_after, proposals[-self.shrink_after :]
        most = {pool.name: pool.wanted if is_early else max(sizes[pool.name] for sizes in lately) for pool in now.pools}
        return {pool.name: max(found[pool.name], min(pool.wanted, most[pool.name])) for pool in now.pools}

    def _hindrance(
        self, now: Observation, allocation: Mapping[str, int], memory: DS2Memory, interval: Interval
    ) -> str | None:
        """Why a change is not made, if there is a reason."""
        steps = [(pool, allocation[pool.name] - pool.wanted) for pool in now.pools]
        # One pool that changes for good takes the minor ones along. The last step to the minimum is not minor.
        if not any(
            step > self.ignore_up
            or step < -self.ignore_down
            or (step < 0 and allocation[pool.name] <= pool.min_workers)
            for pool, step in steps
        ):
            return "a minor change is not made" if any(step for _, step in steps) else "the sizes are right"
        refused, useless = memory["acted"]["refused"], memory["acted"]["useless"]
        if refused and holds(refused, interval["load_rps"]) and refused["allocation"] == allocation:
            return "these sizes did harm at this load"
        if not useless or not holds(useless, interval["load_rps"]) or useless["times"] < self.decision_limit:
            return None
        grows = any(step > 0 for _, step in steps)
        return f"{useless['times']} decisions in a row did not help at this load" if grows else None

    def _interval_s(self, now: Observation) -> float:
        """Where batches count, whole ones: within one, slots are busy before what they have done is told."""
        periods = (period_s(query) for query in now.queries if self.batches == "count" and is_batched(query))
        return max((math.ceil(self.interval_s / one) * one for one in periods), default=self.interval_s)

    def _noticed(self, memory: DS2Memory, now: Observation) -> DS2Memory:
        """Take in what every look shows: what is left behind, who is down, and that sizes have changed."""
        seen: DS2Memory = {**memory}
        seen["behind"] = {query.id: watched(memory["behind"].get(query.id), query) for query in now.queries}
        if any(query.phase in ("starting", "restarting") for query in now.queries):
            # The intervals to ignore are those after a redeployment, not those during it.
            seen["is_disturbed"], seen["warm_until_s"] = True, now.at_s + self.warm_up_s
        wanted, began = now.wanted(), memory["began"]
        if memory["wanted"] != wanted:
            if memory["wanted"] and began is not None:
                # The change was decided when the present interval began, or within it.
                seen["warm_until_s"] = max(seen["warm_until_s"], began["at_s"] + self.warm_up_s)
                seen["acted"] = self._changed(memory, now)
            seen["wanted"], seen["proposals"], seen["interval"] = wanted, [], None
        else:
            seen["acted"] = settled(memory["acted"], now)
        return seen

    def _changed(self, memory: DS2Memory, now: Observation) -> Acted:
        """What there was before a change, to be compared with what comes after it."""
        acted, interval = memory["acted"], memory["interval"]
        change: DS2Change | None = None
        if interval is not None and interval["unknown"] is None:
            change = {
                "before": memory["wanted"],
                "after": now.wanted(),
                "load_rps": interval["load_rps"],
                "achieved": achieved_share(interval["ratio"]),
                "is_corrected": interval["is_corrected"],
                "is_for_lag": interval["is_for_lag"],
            }
            if self.drain_s is None:
                # Sizes that also work off lag go up and down with it.
                acted = needed_after_all(acted, change)
        rates = memory["rates"] if has_own_pools(now) else {}
        return changed(acted, now, memory["wanted"], change, rates, self.least_gain)

    def _measured(self, memory: DS2Memory, began: Totals, now: Observation) -> DS2Memory:
        """An interval has passed."""
        ended = totals(now)
        grown = growth(began, ended)
        rates = self._rates(memory["rates"], true_rates(grown, now.at_s, self.max_busy), now)
        parts = {
            query.id: parts_of_output(query, memory["parts"].get(query.id, {}), grown, began, ended)
            for query in now.queries
        }
        driver_s = driver_times(memory["driver_s"], began, ended, now)
        after: DS2Memory = {
            **memory, "began": ended, "rates": rates, "parts": parts, "driver_s": driver_s, "is_disturbed": False,
        }  # fmt: skip
        load = self._why_ignored(memory, began) or self._load(after, began, ended, now)
        if isinstance(load, str):
            after["interval"] = unknown(load)
            return after
        if load.is_seen:
            after["acted"] = judged(
                memory["acted"], load.rps, load.ratio,
                noise=self.rate_noise, least_gain=self.least_gain, harm=self.roll_back,
            )  # fmt: skip
        after["interval"] = interval = self._asked(after, load, now)
        if interval["unknown"] is None:
            after["proposals"] = [*memory["proposals"], interval["sizes"]][-max(self.activation, self.shrink_after) :]
        return after

    def _why_ignored(self, memory: DS2Memory, began: Totals) -> str | None:
        if memory["is_disturbed"]:
            return "a query was down, so the last interval says nothing"
        if began["at_s"] < memory["warm_until_s"] - 1e-6:
            return f"warm-up: what is measured within {self.warm_up_s:g} s of a change is ignored"
        return None

    def _rates(self, before: dict[str, Numbers], fresh: dict[str, Numbers], now: Observation) -> dict[str, Numbers]:
        """The rates of this interval; where stages take turns, also those of earlier ones that stand for it."""
        if has_own_pools(now):
            return fresh
        exist = {f"{query.id}/{operator.name}" for query in now.queries for operator in query.topology.operators}
        oldest_s = now.at_s - self.remembered_s
        kept = {name: rate for name, rate in before.items() if name in exist and (rate[2] or 0.0) >= oldest_s}
        return kept | fresh

    def _load(self, memory: DS2Memory, began: Totals, ended: Totals, now: Observation) -> Load | str:
        """What arrived during an interval, and how much of it was achieved since the last change."""
        # A shortfall that counts what waits has to be beyond doubt, which takes several batches.
        window_s = self.interval_s if self.catch_up_s is None else _LONG * self.interval_s
        watch = Watch(memory["warm_until_s"], window_s, self.catch_up_s, self.rate_noise)
        return load_of(now, began, ended, memory["behind"], watch)

    def _sized(self, memory: DS2Memory, flows: Mapping[str, dict[str, float]], now: Observation) -> Sizing:
        driver_s = memory["driver_s"] if self.batches == "count" else None
        rules = Rules(rounding=self.rounding, sources=self.sources, factor=self.factor, driver_s=driver_s)
        slow = serial(memory["acted"], now, memory["rates"], self.least_gain)
        if self.drain_s is None:
            return sized(now, flows, memory["rates"], slow, rules, memory["parts"])
        # A change stops the query for a while, and what arrives meanwhile has to be worked off as well. Sizes that
        # are enough without a change are therefore kept, up to those that would be chosen by one.
        stopped_s = self.rescale_s if self.rescale_s is not None else memory["acted"]["took_s"]
        rates, parts = memory["rates"], memory["parts"]
        staying = sized(now, self._with_lag(memory, flows, now, 0.0), rates, slow, rules, parts)
        changing = sized(now, self._with_lag(memory, flows, now, stopped_s), rates, slow, rules, parts)
        least, most, wanted = staying.workers(now), changing.workers(now), now.wanted()
        if any(not least[pool] <= wanted[pool] <= most[pool] for pool in most):
            return changing
        staying.slots = {
            pool.name: float(pool.wanted * pool.slots_per_worker) for pool in now.pools if pool.name in least
        }
        return staying

    def _with_lag(
        self, memory: DS2Memory, flows: Mapping[str, dict[str, float]], now: Observation, stopped_s: float
    ) -> dict[str, dict[str, float]]:
        """What arrives, and what waits spread over `drain_s`."""
        full: dict[str, dict[str, float]] = {}
        for query in now.queries:
            if query.id not in flows:
                continue
            flow, total = flows[query.id], sum(flows[query.id].values())
            lag = (records_behind(memory["behind"][query.id], query) or 0.0) + total * stopped_s
            extra = lag / (self.drain_s or 1.0)
            full[query.id] = {
                name: rps + extra * (rps / total if total else 1 / len(flow)) for name, rps in flow.items()
            }
        return full

    def _enlarged(self, sizes: Mapping[str, int]) -> dict[str, int]:
        return {pool: math.ceil(size * self.over_provision - 1e-9) for pool, size in sizes.items()}

    def _asked(self, memory: DS2Memory, load: Load, now: Observation) -> Interval:
        """What an interval asks for."""
        sizing = self._sized(memory, load.flows, now)
        if not sizing.slots and (sizing.unknown or not now.queries):
            return unknown(sizing.sentence() if now.queries else "no query runs")
        wanted = now.wanted()
        sizes = with_floor(self._enlarged(sizing.workers(now)), memory["acted"]["enough"], load.rps)
        final = self._corrected(sizes, sizing, load, memory["acted"], now)
        on_top = f"; times {self.over_provision:g} on top" if self.over_provision > 1 else ""
        return {
            "unknown": None,
            "sizes": {**wanted, **final.sizes},
            "slots": sizing.slots,
            "sentence": sizing.sentence() + on_top + final.sentence,
            "load_rps": load.rps,
            "ratio": load.ratio,
            "is_corrected": final.sizes != sizes,
            "is_for_lag": final.is_for_lag,
        }

    def _corrected(
        self, sizes: dict[str, int], sizing: Sizing, load: Load, acted: Acted, now: Observation
    ) -> Corrected:
        """The sizes after a shortfall has been corrected."""
        # Where a correction did not help before, or could not, the equations have the last word.
        if holds(acted["uncorrected"], load.rps) or (load.arrival_ratio or 0.0) > self.most_ratio:
            return Corrected(sizes)
        # Where the ratio is within the noise nothing is corrected.
        threshold = max(self.target_rate_ratio, 1.0 + self.rate_noise)
        if self.correct == "proposal":
            return from_proposal(sizes, sizing, load, now, threshold)
        found = from_present(sizes, sizing, load, now, threshold, self.most_ratio)
        if self.catch_up_s is None or not load.waits:
            return found
        wanted = now.wanted()
        kept = {name: max(size, wanted[name]) for name, size in found.sizes.items()}
        return found._replace(sizes=kept)


def _check(name: str, holds: bool, rule: str) -> None:
    if not holds:
        raise BadInput(f"policy ds2: {name} {rule}")


_: type[Policy[DS2Memory]] = DS2
