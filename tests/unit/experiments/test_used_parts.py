"""Which code decides a run: of policies and estimators those that it takes part of."""

from pathlib import Path

import pytest

from elastream.experiments.store.identity import digest_code
from elastream.experiments.store.used_parts import ROOT, find_used_parts
from elastream.policies import policies


def parts(policy: str, *whole: Path) -> set[str]:
    return {str(file.relative_to(ROOT)) for file in find_used_parts(policy, whole)}


@pytest.mark.parametrize("name", [name for name in policies.names() if ":" not in name])
def test_every_policy_of_ours_counts_with_the_file_that_it_stands_in(name: str) -> None:
    module = policies.get(name).__module__.partition(".")[2]
    assert f"{module.replace('.', '/')}.py" in parts(name)
    assert len(parts(name)) < len(parts("nobody:Mine"))


def test_a_policy_counts_for_whoever_imports_it_and_for_nobody_else() -> None:
    rule, planned = "policies/lag_proportional.py", "policies/foresight/plan.py"
    assert {rule, planned, "estimators/outlook.py"} <= parts("foresight")
    assert rule in parts("lag-proportional")
    assert not {planned, "estimators/outlook.py"} & parts("lag-proportional")
    assert not {rule, planned} & parts("ds2-spark")


def test_an_estimator_counts_for_everybody_where_the_engine_uses_it() -> None:
    assert "estimators/delay.py" in parts("spark-dra", ROOT / "simulator/microbatch/engine.py")


def test_where_a_policy_is_not_ours_any_of_ours_may_be_part_of_it() -> None:
    everything = {str(file.relative_to(ROOT)) for file in (ROOT / "policies").rglob("*.py")}
    assert everything <= parts("my_policy:Mine")


def test_policies_of_other_code_have_other_names() -> None:
    assert digest_code("simulator", "hpa-80") == digest_code("simulator", "hpa-60")
    assert digest_code("simulator", "hpa-80") != digest_code("simulator", "varga")
