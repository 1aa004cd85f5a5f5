"""DS2 by other names: as its paper ran it, as a thesis did, and as Spark's micro-batches want it."""

from elastream.policies.catalogue import policies

_NO_CORRECTION = 1e9  # arrival over achieved rate that no query has

policies.preset(
    "ds2-heron-wordcount", of="ds2", doc="DS2 as it ran word count on Heron: 60 s, no warm-up, activation 1",
    interval_s=60.0, warm_up_s=0.0, activation=1, rounding="per_operator",
)  # fmt: skip
policies.preset(
    "ds2-dynamic-wordcount", of="ds2", doc="DS2 as it followed a moving rate on Flink: 10 s, 30 s, activation 1",
    interval_s=10.0, warm_up_s=30.0, warm_at_start=True, activation=1, rounding="per_operator",
)  # fmt: skip
policies.preset(
    "ds2-convergence", of="ds2", doc="DS2 in the paper's convergence runs: 30 s, warm-up 30 s, activation 5",
    interval_s=30.0, warm_up_s=30.0, warm_at_start=True, activation=5, rounding="per_operator",
)  # fmt: skip
policies.preset(
    "ds2-timely", of="ds2",
    doc="DS2 on Timely: as in the convergence runs; sizes add up, sources do not count: too small for Spark, where "
    "stages that read a source use slots as well",
    interval_s=30.0, warm_up_s=30.0, warm_at_start=True, activation=5, rounding="per_operator", sources="leave",
)  # fmt: skip
policies.preset(
    "ds2-kanis", of="ds2", doc="DS2 as the thesis ran it: every 15 s, whole sizes times 1.2, no correction on line",
    interval_s=15.0, warm_up_s=0.0, over_provision=1.2, target_rate_ratio=_NO_CORRECTION, rounding="per_operator",
)  # fmt: skip
policies.preset(
    "ds2-kanis-lag", of="ds2", doc="what the thesis proposes instead: lag counts, that of the change too; busy for 0.9",
    interval_s=15.0, warm_up_s=0.0, max_busy=0.9, drain_s=300.0, target_rate_ratio=_NO_CORRECTION,
    rounding="per_operator",
)  # fmt: skip
policies.preset(
    "ds2-spark", of="ds2",
    doc="DS2 for micro-batches: whole waves of tasks beside the driver's time, and from the present size what falls "
    "short or lags",
    batches="count", correct="present", catch_up_s=600.0, shrink_after=10,
)  # fmt: skip
