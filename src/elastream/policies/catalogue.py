"""Where policies are registered; being registered is what puts one under the contract tests."""

from collections.abc import Callable
from typing import Any, TypeVar

from elastream.core.protocols import Policy
from elastream.registry import Registry

C = TypeVar("C")

policies: Registry[Policy[Any]] = Registry("policy", Policy, group="elastream.policies")


def register_policy(name: str) -> Callable[[type[C]], type[C]]:
    """Class decorator: the policy can be chosen by this name in this process, as ours can."""
    return policies.register(name)
