"""Published models with other numbers."""

import pytest

from elastream.core.errors import BadInput
from elastream.simulator.catalogue import any_model
from elastream.simulator.continuous.model import DataflowModel


def changed(text: str) -> DataflowModel:
    model = any_model(text)
    assert isinstance(model, DataflowModel)
    return model


def test_operators_pools_and_restarts_take_settings_by_their_names() -> None:
    model = changed("heron-wordcount(count-hot_share=50%, count-max_workers=30, restart-grow=1m)")
    source, flatmap, count = model.operators
    assert (count.hot_share, flatmap.hot_share, source.hot_share) == (0.5, 0.0, 0.0)
    assert (model.pools["count"].max_workers, model.pools["flatmap"].max_workers) == (30, 60)
    assert (model.restart.grow_s, model.restart.shrink_s) == (60.0, 0.0)
    assert model.name == "heron-wordcount(count-hot_share=50%, count-max_workers=30, restart-grow=1m)"


def test_a_part_with_a_dash_in_its_name_is_found_and_so_are_nodes() -> None:
    assert changed("ds2-nexmark-q8(window-join-unseen=0)").operators[-1].unseen == 0.0
    places = changed("gesscale-taxi(places-anew=true, places-start='node1,node2')").places
    assert places is not None
    assert (places.anew, places.start) == (True, ("node1", "node2"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("heron-wordcount(cuont-hot_share=1)", "model heron-wordcount has no part 'cuont'; did you mean 'count'?"),
        ("heron-wordcount(count-hotshare=1)", "count has no setting 'hotshare'; did you mean 'hot_share'?"),
        ("heron-wordcount(count-hot_share=2)", "hot_share is 2; one key has at most all records"),
        ("heron-wordcount(5)", "a value without a name; write it as part-setting=value"),
        ("heron-wordcount(count-rate=1..2)", "it must be one value"),
        ("enrich(parse-partitions=3)", "model enrich runs micro-batches and takes no settings"),
        ("heron-wordcoun(count-rate=1)", "did you mean 'heron-wordcount'?"),
    ],
)
def test_what_makes_no_sense_is_one_line_with_the_nearest_right_name(text: str, told: str) -> None:
    with pytest.raises(BadInput, match=told.replace("?", r"\?")):
        any_model(text)


def test_workers_far_from_each_other_do_less_so_that_more_of_them_are_needed() -> None:
    # 62 n^0.85 - 0.1/s for each ms; on the best seven nodes 300 ms are between the farthest, on the best three 25.
    model = changed("gesscale-taxi")
    assert model.full_rps() == pytest.approx(62 * 7**0.85 - 30)
    assert model.resized(max_workers=3).full_rps() == pytest.approx(62 * 3**0.85 - 2.5)
    assert changed("gesscale-taxi(nearest-delay_cost=0)").full_rps() == pytest.approx(62 * 7**0.85)
    assert changed("gesscale-taxi(nearest-delay_cost=1000)").full_rps() == 0.0
