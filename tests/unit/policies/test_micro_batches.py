"""How policies do on micro-batches: the figures that were measured, and how they are told."""

from elastream.policies import policies
from elastream.policies.micro_batches import BatchCase, find_command, find_error, find_measured, spell_error
from experiments.micro_batches import CASES, COMMAND, is_measured


def one(workers: float, *, keeps_up: bool = True, delay_s: float = 12.0) -> BatchCase:
    return BatchCase(case="any", needed=8, workers=workers, delay_s=delay_s, keeps_up=keeps_up)


def test_who_keeps_up_everywhere_is_not_misled_and_says_what_it_takes() -> None:
    assert spell_error([one(8), one(12)]) == "keeps up, 1.00 to 1.50 x need"
    assert spell_error([one(8), one(8)]) == "keeps up, 1.00 x need"


def test_who_falls_behind_is_misled_by_so_much() -> None:
    found = spell_error([one(6, keeps_up=False, delay_s=1367.4), one(8), one(7, keeps_up=False, delay_s=90)])
    assert found == "misled: 2 of 3 fall behind, to 1,367 s; 0.75 to 1.00 x need"


def test_every_policy_that_runs_on_micro_batches_was_measured_in_every_case() -> None:
    assert find_command() == COMMAND
    for name in policies.names():
        cases = [case.name for case in CASES] if is_measured(name) else []
        assert [found.case for found in find_measured(name)] == cases, f"{name}: run {COMMAND}"


def test_of_a_policy_of_others_nothing_is_said() -> None:
    assert find_error("somebody:Elses") is None
