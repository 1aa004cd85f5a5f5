"""The equations of DS2 against input/output pairs of the authors' own policy, and against the paper's figure 2."""

import json
from pathlib import Path
from typing import Any

import pytest

from elastream.policies.ds2.equations import Answer, Required, TrueRates, corrected, rate_ratio, required

VECTORS = Path(__file__).parent / "vectors" / "ds2"
NO_THRESHOLD = float("inf")
SATURATED = 4294967295

DEGENERATE = {
    "zero_rate": "an operator without a true rate, and what it feeds, get a reason where the authors say 2^32-1 or 0",
    "one_idle_instance": "as the authors, unless the idle instance is the only one, which is a zero rate",
    "zero_source": "no records need one instance, not none; a rate that achieves nothing corrects nothing",
}


def vectors() -> list[Any]:
    lines = [line for file in sorted(VECTORS.glob("*.jsonl")) for line in file.read_text().splitlines()]
    cases = [json.loads(line) for line in lines]
    return [pytest.param(case, id=f"{case['id']}-{case['edge_case'] or 'plain'}") for case in cases]


class Solved:
    """A vector, and what our functions make of it."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.present: dict[str, int] = case["parallelism"]
        fed = {downstream for _, downstream in case["edges"]}
        self.sources = [name for name in self.present if name not in fed]
        summed = {
            name: [sum(rates) for rates in zip(*instances, strict=True)]
            for name, instances in case["instance_rates"].items()
        }
        declared = case["source_rates_per_instance"] or {}
        target = {}
        for name in self.sources:
            rate = declared.get(name)
            # The authors write -1 for "what is observed", and sum the rates of a source without a declared one.
            target[name] = summed[name][1] if rate is None else summed[name][3]
            if rate is not None and rate != -1:
                target[name] = rate * self.present[name]
        rates = {
            name: TrueRates(count, summed[name][0], summed[name][1])
            for name, count in self.present.items()
            if name in fed
        }
        edges = [(upstream, downstream) for upstream, downstream in case["edges"]]
        self.answers: dict[str, Answer] = required(edges, target, rates, factor=case["factor"])
        self.sizes = {name: a.instances for name, a in self.answers.items() if isinstance(a, Required)}
        ratio = rate_ratio(target, {name: summed[name][3] for name in self.sources})
        threshold = case["target_rate_ratio_threshold"] or NO_THRESHOLD
        self.unknown = self.answers.keys() - self.sizes.keys()
        self.final = corrected(self.sizes, self.present, ratio, threshold, self.unknown)


@pytest.mark.parametrize("case", [vector for vector in vectors() if vector.values[0]["edge_case"] is None])
def test_the_sizes_are_those_of_the_authors_policy(case: dict[str, Any]) -> None:
    solved = Solved(case)
    expected = {name: size for name, size in case["expected_at_epoch"].items() if name not in solved.sources}
    assert solved.sizes == expected
    assert solved.final == case["expected_offline"]


@pytest.mark.parametrize("case", [vector for vector in vectors() if vector.values[0]["edge_case"]])
def test_where_the_authors_policy_answers_absurdly_there_is_a_reason_and_else_the_same_size(
    case: dict[str, Any],
) -> None:
    kind, _, where = case["edge_case"].partition(":")
    assert kind in DEGENERATE
    solved = Solved(case)
    for name, answer in solved.answers.items():
        theirs = case["expected_at_epoch"][name]
        if isinstance(answer, str):
            assert answer
            assert theirs in (SATURATED, 0)
        else:
            assert answer.instances == max(1, theirs)
    absurd = {name for name, size in case["expected_at_epoch"].items() if size == SATURATED}
    assert all(isinstance(solved.answers[name], str) for name in absurd)
    if kind == "zero_rate":
        assert isinstance(solved.answers[where], str)
    theirs_offline = case["expected_offline"]
    # A source that achieves nothing corrects by an infinite ratio there, and nothing here.
    if absurd or SATURATED not in theirs_offline.values():
        assert solved.final == {name: max(1, theirs_offline[name]) for name in solved.final}


def test_every_kind_of_degenerate_input_occurs() -> None:
    kinds = {vector.values[0]["edge_case"].partition(":")[0] for vector in vectors() if vector.values[0]["edge_case"]}
    assert kinds == set(DEGENERATE)


def test_figure_2_is_solved_in_one_step() -> None:
    rates = {"o1": TrueRates(1, 10.0, 100.0), "o2": TrueRates(1, 200.0, 200.0)}
    found = required([("source", "o1"), ("o1", "o2")], {"source": 40.0}, rates)
    assert found["o1"] == Required(40.0, 4.0, 4, 400.0)
    assert found["o2"] == Required(400.0, 2.0, 2, 400.0)


def test_every_downstream_operator_receives_all_that_is_given_out() -> None:
    rates = {name: TrueRates(1, 10.0, 10.0) for name in ("a", "b", "c")}
    found = required([("s", "a"), ("a", "b"), ("a", "c"), ("b", "c")], {"s": 20.0}, rates)
    assert {name: answer.instances for name, answer in found.items() if isinstance(answer, Required)} == {
        "a": 2, "b": 2, "c": 4,
    }  # fmt: skip


def test_a_part_of_the_output_reaches_where_one_is_named() -> None:
    rates = {name: TrueRates(1, 10.0, 40.0) for name in ("a", "b", "c")}
    found = required([("s", "a"), ("a", "b"), ("a", "c")], {"s": 10.0}, rates, parts={"b": {"a": 0.25}})
    assert {name: answer.input_rps for name, answer in found.items() if isinstance(answer, Required)} == {
        "a": 10.0, "b": 10.0, "c": 40.0,
    }  # fmt: skip


def test_what_no_record_reaches_needs_one_instance_whatever_its_rate() -> None:
    found = required([("s", "a"), ("a", "b")], {"s": 0.0}, {"a": TrueRates(3, 10.0, 10.0), "b": None})
    assert found == {"a": Required(0.0, 0.0, 1, 0.0), "b": Required(0.0, 0.0, 1, 0.0)}


def test_an_operator_that_gives_nothing_out_is_a_value_and_one_without_useful_time_is_unknown() -> None:
    rates = {"window": TrueRates(1, 10.0, 0.0), "sink": TrueRates(1, 5.0, 5.0)}
    edges = [("s", "window"), ("window", "sink")]
    sink = required(edges, {"s": 20.0}, rates)["sink"]
    assert isinstance(sink, Required)
    assert sink.instances == 1
    assert required(edges, {"s": 20.0}, {**rates, "sink": None})["sink"] == "no useful time was measured"


def test_an_output_that_nobody_counts_matters_only_to_what_it_feeds() -> None:
    rates = {"a": TrueRates(1, 10.0, None), "b": TrueRates(1, 10.0, None)}
    found = required([("s", "a"), ("a", "b")], {"s": 20.0}, rates)
    assert isinstance(found["a"], Required)
    assert found["b"] == "what a will give out is not known"


def test_operators_in_a_cycle_and_those_that_nothing_feeds_get_a_reason() -> None:
    rates = {name: TrueRates(1, 10.0, 10.0) for name in ("a", "b", "c")}
    found = required([("s", "a"), ("b", "a"), ("a", "b")], {"s": 20.0}, rates)
    assert found == {"a": "it stands in a cycle", "b": "it stands in a cycle", "c": "nothing feeds it"}


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), -1.0, 0.0])
def test_an_impossible_rate_gets_a_reason(rate: float) -> None:
    found = required([("s", "a")], {"s": 20.0}, {"a": TrueRates(1, rate, 1.0)})
    assert "says nothing" in str(found["a"])


def test_the_correction_waits_until_the_equations_want_nothing_to_grow() -> None:
    assert corrected({"a": 4, "b": 2}, {"a": 4, "b": 3}, 1.3, 1.0) == {"a": 6, "b": 3}
    assert corrected({"a": 4, "b": 2}, {"a": 3, "b": 3}, 1.3, 1.0) == {"a": 4, "b": 2}
    assert corrected({"a": 4}, {"a": 4}, 1.3, 1.3) == {"a": 4}
    assert corrected({"a": 4}, {"a": 4}, None, 1.0) == {"a": 4}


def test_while_the_size_of_one_operator_is_unknown_no_other_is_corrected() -> None:
    """`count` has no true rate; the sources get half of what they want, and `map` and `sink` are large enough."""
    edges = [("s", "map"), ("map", "count"), ("s", "sink")]
    rates = {"map": TrueRates(10, 100.0, 100.0), "count": TrueRates(2, 0.0, 0.0), "sink": TrueRates(1, 100.0, 0.0)}
    present, ratio = {"s": 1, "map": 10, "count": 2, "sink": 1}, rate_ratio({"s": 100.0}, {"s": 50.0})
    answers = required(edges, {"s": 100.0}, rates)
    sizes = {name: answer.instances for name, answer in answers.items() if isinstance(answer, Required)}
    assert sizes == {"map": 10, "sink": 1}
    assert corrected(sizes, present, ratio, 1.0, answers.keys() - sizes.keys()) == {"map": 10, "sink": 1}
    known = required(edges, {"s": 100.0}, {**rates, "count": TrueRates(2, 200.0, 0.0)})
    sizes = {name: answer.instances for name, answer in known.items() if isinstance(answer, Required)}
    assert corrected(sizes, present, ratio, 1.0) == {"map": 20, "count": 2, "sink": 2}


def test_the_rate_ratio_is_that_of_the_source_that_falls_short_most() -> None:
    assert rate_ratio({"a": 10.0, "b": 30.0}, {"a": 10.0, "b": 20.0}) == 1.5
    assert rate_ratio({"a": 10.0, "b": 30.0}, {"a": 10.0, "b": 0.0}) is None
    assert rate_ratio({"a": 0.0}, {"a": 0.0}) == 0.0
