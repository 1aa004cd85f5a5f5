"""Dhalion on Heron's word count as in the DS2 paper (5.2): published, six steps to 22 and 30 where 10 and 20 are right.

Heron's back-pressure makes the difference. A full queue stops the sources until it has been worked off to a lower mark,
and with queues of 100 MiB that takes minutes. Within the minute that Dhalion looks back, sources then stood still all
the time or none of it, whatever the operator lacks.
"""

from dataclasses import replace
from itertools import pairwise

from elastream.policies import policies
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.published import published
from elastream.simulator.run import Simulation
from elastream.testing import Story
from elastream.workloads import parse_workload

SENTENCES = f"constant({1e6 / 60:.6f})"
RIGHT = (10, 20)


def steps(model: DataflowModel) -> list[tuple[int, int]]:
    """Flatmap and count over an hour, each pair told once."""
    story = Story()
    Simulation(
        model,
        parse_workload(SENTENCES),
        policies.build("dhalion-heron"),
        name="dhalion-heron",
        duration_s=3_600.0,
        tick_s=10.0,
    ).run([story])
    assert not any(tick.troubles for tick in story.ticks)
    sizes = [tick.decision.allocation for tick in story.ticks if tick.decision is not None]
    found = [(size["flatmap"], size["count"]) for size in sizes]
    return [found[0], *(after for before, after in pairwise(found) if after != before)]


def with_queues(model: DataflowModel, share: float) -> DataflowModel:
    """The same with queues of another size."""
    operators = tuple(replace(one, buffer=one.buffer * share) if one.buffer else one for one in model.operators)
    return replace(model, operators=operators)


def test_it_goes_up_in_five_steps_of_one_operator_each_and_ends_over_provisioned() -> None:
    found = steps(published("heron-wordcount"))
    assert len(found) - 1 >= 5
    for (flatmap, count), (flatmap_after, count_after) in pairwise(found):
        assert (flatmap_after > flatmap) != (count_after > count), "one bottleneck at a time"
        assert (flatmap_after, count_after) >= (flatmap, count)
    assert found[-1][0] > 1.5 * RIGHT[0]
    assert found[-1][1] >= 1.5 * RIGHT[1]


def test_the_smaller_the_queues_the_less_it_overshoots() -> None:
    ends = [steps(with_queues(published("heron-wordcount"), share))[-1] for share in (0.1, 0.001)]
    assert ends[0] > ends[1] == RIGHT


def test_where_a_full_queue_only_holds_back_who_feeds_it_just_enough_is_found() -> None:
    """As on Flink: sources go on at the bottleneck's rate, so the share of time they wait tells what is lacking."""
    found = steps(replace(published("heron-wordcount"), stops_sources_until=None))
    assert found[-1] == RIGHT
    assert len(found) - 1 >= 4
