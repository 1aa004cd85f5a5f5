"""What every guard must do. A new guard joins by standing in the order."""

from typing import Any

import pytest

from elastream.config import build_guards
from elastream.core.guards import ORDER
from elastream.core.protocols import Guard
from elastream.testing import check_pure
from elastream.testing.guard_contract import check_guard_accounts, check_guard_memory, check_guard_restores

SETTINGS: dict[str, dict[str, object]] = {
    "budget": {"worker_hours": 3},
    "quiet_hours": {"utc": ["00:00-06:00"]},
    "step_limit": {"up": 5, "down": 5},
}
GUARDS = build_guards({name: SETTINGS.get(name, {}) for name in ORDER})

every_guard = pytest.mark.parametrize("guard", GUARDS.values(), ids=GUARDS)


@every_guard
def test_it_accounts_for_what_it_changes_and_touches_nothing_else(guard: Guard[Any]) -> None:
    check_guard_accounts(guard)


@every_guard
def test_its_memory_is_plain_bounded_and_not_shared(guard: Guard[Any]) -> None:
    check_guard_memory(guard)


@every_guard
def test_stopped_in_the_middle_and_restored_from_json_it_goes_on_as_if_nothing_had_happened(guard: Guard[Any]) -> None:
    check_guard_restores(guard)


def test_guards_are_pure_in_two_processes_with_other_clocks_and_hash_seeds() -> None:
    check_pure(*GUARDS.values(), kind="guard")
