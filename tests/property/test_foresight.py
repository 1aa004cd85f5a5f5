"""Whatever the load, the job and the promise: bounds are kept, nothing is given up while what waits is worked off, and
no decision costs more than holding by its own model."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.policies import policies
from elastream.simulator.catalogue import any_model
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.run import Simulation
from elastream.testing import Story
from elastream.workloads import parse_workload

NAMES = ("enrich", "windowed-count", "stream-join", "two-queries", "nexmark-q5", "daedalus-wordcount")


@st.composite
def models(draw: st.DrawFn) -> ApplicationModel | DataflowModel:
    """A job with other bounds, slots, trigger and promises of its own for each query."""
    model = any_model(draw(st.sampled_from(NAMES)))
    least, more = draw(st.integers(1, 4)), draw(st.integers(0, 14))
    bounds = {"min_workers": least, "max_workers": least + more}
    bounds["initial_workers"] = draw(st.integers(least, least + more))
    promise = st.sampled_from((10.0, 30.0, 60.0, 120.0)).map(lambda bound_s: Slo(delay_s=bound_s))
    if isinstance(model, DataflowModel):
        return model.resized(**bounds).promising(draw(promise))
    trigger = Trigger(interval_s=draw(st.sampled_from((None, 2.0, 10.0, 60.0))))
    queries = tuple(replace(query, trigger=trigger, slo=draw(promise)) for query in model.queries)
    return replace(model, queries=queries).resized(slots_per_worker=draw(st.sampled_from((1, 4))), **bounds)


@st.composite
def loads(draw: st.DrawFn) -> str:
    """Some rates one after the other, each for a minute or so."""
    rates = draw(st.lists(st.sampled_from((0, 3, 900, 12_000, 40_000, 150_000)), min_size=2, max_size=5))
    return f"convergence({', '.join(map(str, rates))}, first=90s, each={draw(st.integers(40, 150))}s)"


@settings(max_examples=12, deadline=None)
@given(model=models(), load=loads())
def test_its_decisions_keep_their_own_rules(model: ApplicationModel | DataflowModel, load: str) -> None:
    story = Story()
    decides = policies.build("foresight", {})
    Simulation(model, parse_workload(load), decides, name="foresight", duration_s=400.0, tick_s=5.0).run([story])
    for before, tick in pairwise(story.ticks):
        now, decision = tick.observation, tick.decision
        assert now is not None
        assert decision is not None
        assert not tick.troubles
        (pool,) = now.pools
        workers = decision.allocation[pool.name]
        assert pool.min_workers <= workers <= pool.max_workers
        if decision is before.decision or decision.made_s != now.at_s or decision.kind != "set":
            continue
        for query in now.queries:
            costs = {key: value for key, value in decision.evidence.items() if key.startswith(f"{query.name}/cost_s/")}
            chosen, held = (costs.get(f"{query.name}/cost_s/{size}") for size in (workers, pool.wanted))
            # Several queries are given the largest of what they need.
            if len(now.queries) == 1 and isinstance(chosen, float) and isinstance(held, float):
                assert chosen <= held or "little is known" in decision.reason
            if workers < pool.wanted and costs:
                assert f"{workers} would not keep up" not in decision.reason
                assert "records wait beyond one batch" not in decision.reason
