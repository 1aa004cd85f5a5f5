"""Policies by name. One policy, one file; its first paragraph says where it comes from."""

from elastream.policies.catalogue import policies
from elastream.policies.fixed import Fixed
from elastream.policies.lag_proportional import LagProportional
from elastream.policies.threshold import Threshold

__all__ = ["Fixed", "LagProportional", "Threshold", "policies"]
