"""What micro-batches do to policies that were made for engines without them."""

from dataclasses import replace

import pytest

from elastream.core.observation import Trigger
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.testing import Story, application, tell


def triggered(model: ApplicationModel, interval_s: float) -> ApplicationModel:
    """The model with another trigger."""
    return replace(
        model, queries=tuple(replace(query, trigger=Trigger(interval_s=interval_s)) for query in model.queries)
    )


def settled(story: Story, minutes: float) -> set[int]:
    """The sizes of the last ten minutes."""
    return set(story.wanted(from_s=(minutes - 10) * 60))


@pytest.mark.parametrize(("tick_s", "interval_s"), [(5.0, 12.0), (5.0, 60.0), (15.0, 20.0), (15.0, 120.0)])
@pytest.mark.parametrize(("model", "load", "right"), [("windowed-count", "60k", 9), ("enrich", "40k", 6)])
def test_a_steady_load_gets_as_many_workers_whatever_the_trigger_and_the_time_between_two_looks(
    model: str, load: str, right: int, tick_s: float, interval_s: float
) -> None:
    app = triggered(application(model, max_workers=24, initial_workers=4), interval_s)
    story = tell(app, f"constant({load})", "hpa", minutes=40, tick_s=tick_s)
    assert settled(story, 40) == {right}
