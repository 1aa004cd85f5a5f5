"""The workloads of J. B. Kanis' thesis (TU Delft 2023, sections 5.4.3, 7.1 and 7.2), one value per minute.

The thesis prints no series and no seeds, so these reproduce its rules. Where its text and its code differ, the plain
name follows the text and `-code` the code.
"""

from elastream.workloads.pattern import workloads

MINUTE_S = 60.0

DURATIONS_S = {
    "kanis-cosine": 140 * MINUTE_S,
    "kanis-cosine-q3": 140 * MINUTE_S,
    "kanis-cosine-q5": 140 * MINUTE_S,
    "kanis-random": 140 * MINUTE_S,
    "kanis-increasing": 140 * MINUTE_S,
    "kanis-increasing-code": 140 * MINUTE_S,
    "kanis-decreasing": 140 * MINUTE_S,
    "kanis-decreasing-code": 140 * MINUTE_S,
    "kanis-convergence": 90 * MINUTE_S,
}
"""How long the thesis runs each of them."""

TOP_RPS = 2.5e6

for _name, _low, _high, _noise, _queries in (
    ("kanis-cosine", 200e3, 2.2e6, 100e3, "Nexmark Q1, Q2 and Q11"),
    ("kanis-cosine-q3", 3e3, 33e3, 1.5e3, "Nexmark Q3"),
    ("kanis-cosine-q5", 10e3, 110e3, 7.5e3, "Nexmark Q5"),
):
    workloads.preset(
        _name,
        of="cosine",
        doc=f"Kanis' cosine for {_queries}.",
        low_rps=_low,
        high_rps=_high,
        noise_rps=_noise,
        period_s=60 * MINUTE_S,
        step_s=MINUTE_S,
    )

workloads.preset(
    "kanis-random",
    of="random",
    doc="Kanis' random walk.",
    start_rps=1.25e6,
    rise_rps=500e3,
    fall_rps=500e3,
    high_rps=TOP_RPS,
    step_s=MINUTE_S,
)
workloads.preset(
    "kanis-increasing",
    of="increasing",
    doc="Kanis' growing load: from nothing to 2.5 million records/s.",
    from_rps=0.0,
    to_rps=TOP_RPS,
    over_s=140 * MINUTE_S,
    wander=0.04,  # half the width of the steps that the thesis' code draws, (1/22 + 1/30) / 2
    step_s=MINUTE_S,
)
workloads.preset(
    "kanis-decreasing",
    of="decreasing",
    doc="Kanis' shrinking load as his text describes it: 2.5 million records/s for one half, then down to nothing.",
    from_rps=TOP_RPS,
    to_rps=0.0,
    over_s=140 * MINUTE_S,
    hold_s=70 * MINUTE_S,
    wander=0.02,  # half of what the code draws: with all of it the first half would not stay near its start
    step_s=MINUTE_S,
)
workloads.preset(
    "kanis-increasing-code",
    of="random",
    doc="Kanis' growing load as his code draws it.",
    start_rps=0.0,
    rise_rps=TOP_RPS / 22,
    fall_rps=TOP_RPS / 30,
    step_s=MINUTE_S,
)
workloads.preset(
    "kanis-decreasing-code",
    of="random",
    doc="Kanis' shrinking load as his code draws it: about half of it is left half way, and a sixth at the end.",
    start_rps=TOP_RPS + 2000,
    rise_rps=TOP_RPS / 28,
    fall_rps=TOP_RPS / 21,
    step_s=MINUTE_S,
)
workloads.preset(
    "kanis-convergence",
    of="convergence",
    doc="Kanis' convergence test: nothing for 10 minutes, then 2 and 1 million records/s for 40 minutes each.",
    levels_rps=(0.0, 2e6, 1e6),
    first_s=10 * MINUTE_S,
    each_s=40 * MINUTE_S,
)
