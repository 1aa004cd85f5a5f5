"""Rates of arrivals over time: patterns, recorded traces, and what they can be combined to."""

from elastream.workloads import kanis as kanis
from elastream.workloads.constant import Constant
from elastream.workloads.convergence import Convergence
from elastream.workloads.pattern import Pattern, Product, Sum, Workload, register_workload, workloads
from elastream.workloads.series import RateSeries
from elastream.workloads.spike import Spike, Spikes
from elastream.workloads.step import Ramp, Step
from elastream.workloads.text import parse_workload
from elastream.workloads.trace import Trace
from elastream.workloads.tracefile import shipped_traces
from elastream.workloads.trend import Decreasing, Increasing
from elastream.workloads.walk import RandomWalk
from elastream.workloads.wave import Cosine, Sine

__all__ = [
    "Constant",
    "Convergence",
    "Cosine",
    "Decreasing",
    "Increasing",
    "Pattern",
    "Product",
    "Ramp",
    "RandomWalk",
    "RateSeries",
    "Sine",
    "Spike",
    "Spikes",
    "Step",
    "Sum",
    "Trace",
    "Workload",
    "kanis",
    "parse_workload",
    "register_workload",
    "shipped_traces",
    "workloads",
]
