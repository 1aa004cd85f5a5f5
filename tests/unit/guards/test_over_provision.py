import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.guards.over_provision import OverProvision
from elastream.testing import asking, knowing, observation, size

NOW = observation(ready=3, wanted=12)


@pytest.mark.parametrize(("asked", "given"), [(0, 0), (1, 2), (5, 6), (10, 12), (11, 14)])
def test_what_is_set_gets_its_share_rounded_up(asked: int, given: int) -> None:
    decision = OverProvision(factor=1.2).adjust(asking(asked), NOW, knowing(), None)
    assert size(decision) == given


def test_the_reason_names_the_factor() -> None:
    assert OverProvision().adjust(asking(5), NOW, knowing(), None).adjustments[0].reason == "times 1.2"


def test_what_stays_already_has_its_share() -> None:
    for decision in (Decision.hold(NOW, "unknown"), Decision.keep(NOW, "enough")):
        assert OverProvision().adjust(decision, NOW, knowing(), None) is decision


@pytest.mark.parametrize("factor", [0.9, 0.0, -1.0, float("nan"), float("inf")])
def test_a_factor_that_takes_away_is_refused(factor: float) -> None:
    with pytest.raises(BadInput, match=r"guard over-provision: factor is .*; it must be at least 1"):
        OverProvision(factor=factor)
