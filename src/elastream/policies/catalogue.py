"""Where policies are registered; being registered is what puts one under the contract tests."""

from typing import Any

from elastream.core.protocols import Policy
from elastream.registry import Registry

policies: Registry[Policy[Any]] = Registry("policy", Policy, group="elastream.policies")
