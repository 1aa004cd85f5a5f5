"""What tests of policies and guards need, ours and those of others. Needs no test framework.

- `observation`, `query`, `pool`, `delay`, `asking`, `knowing`, `size`: looks and decisions with calm defaults.
- `ManualClock`, `FakePlatform`, `FakeJournal`: what stands around a loop.
- `tell`, `application`, `Story`: a whole run on the simulator, with faults as data (`WorkerLoss(at_s=600)`).
- `check_policy`, `check_guard`: what every one must do; `ContractBroken`, an AssertionError, says what it does not.
- `make_absurd`, `without`: looks as no platform should give them, and looks with signals unknown.
"""

from elastream.simulator.faults import (
    AdHocJob,
    Fault,
    MetricsLate,
    MetricsMissing,
    ScaleFailure,
    SinkBlocked,
    SlowStart,
    Straggler,
    Unreachable,
    WorkerLoss,
)
from elastream.testing.absurd import make_absurd
from elastream.testing.blindness import without
from elastream.testing.contract import ContractBroken, check_pure
from elastream.testing.fakes import FakeJournal, FakePlatform, ManualClock
from elastream.testing.guard_contract import check_guard
from elastream.testing.observations import POOL, asking, delay, knowing, observation, pool, query, size
from elastream.testing.policy_contract import check_policy
from elastream.testing.stories import Story, application, tell

__all__ = [
    "POOL",
    "AdHocJob",
    "ContractBroken",
    "FakeJournal",
    "FakePlatform",
    "Fault",
    "ManualClock",
    "MetricsLate",
    "MetricsMissing",
    "ScaleFailure",
    "SinkBlocked",
    "SlowStart",
    "Story",
    "Straggler",
    "Unreachable",
    "WorkerLoss",
    "application",
    "asking",
    "check_guard",
    "check_policy",
    "check_pure",
    "delay",
    "knowing",
    "make_absurd",
    "observation",
    "pool",
    "query",
    "size",
    "tell",
    "without",
]
