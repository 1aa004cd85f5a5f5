"""Loads that were made up, unlike the recorded ones: leaps, bursts, starts from nothing, walks. 1 is the highest."""


def _again(burst: str, every_s: int, first_s: int = 1800) -> str:
    """A burst that comes again and again for six hours."""
    return " + ".join(burst.format(at=at_s) for at_s in range(first_s, 6 * 3600, every_s))


LOADS = {
    "leap": "step(0.1, 1, at=100m)",
    "leap-from-next-to-nothing": "step(0.0001, 1, at=100m)",
    "leap-from-nothing": "step(0, 1, at=60m)",
    "leap-of-three": "step(0.3, 1, at=100m)",
    "late-leap": "step(0.03, 1, at=5h)",
    "full-from-the-start": "constant(1)",
    "fall-and-return": "ramp(1, 0.03, at=10m, for=2h) + step(0, 0.97, at=160m)",
    "stairs": "convergence(0.1, 0.2, 0.4, 0.6, 0.8, 1, 0.5, 0.2, first=30m, each=40m)",
    "one-short-burst": "0.1 + spike(0.9, at=83m, for=1m)",
    "short-bursts": "0.1 + " + _again("spike(0.9, at={at}s, for=1m)", 2000),
    "bursts-of-15-s": "0.05 + " + _again("spike(0.95, at={at}s, for=15s)", 600),
    "bursts-of-40-s": "0.05 + " + _again("spike(0.95, at={at}s, for=40s)", 900),
    "on-and-off-5-m": "0.05 + " + _again("spike(0.95, at={at}s, for=5m)", 600),
    "on-and-off-20-m": "0.02 + " + _again("spike(0.98, at={at}s, for=20m)", 2400),
    "crowd-in-10-s": "ramp(0.1, 1, at=60m, for=10s) * ramp(1, 0.1, at=90m, for=20m)",
    "crowd-in-1-m": "ramp(0.1, 1, at=60m, for=1m) * ramp(1, 0.1, at=90m, for=20m)",
    "crowd-in-5-m": "ramp(0.1, 1, at=60m, for=5m) * ramp(1, 0.1, at=90m, for=20m)",
    "day": "cosine(0.1..0.8, period=6h, shift=3h, noise=0.1)",
    "two-peaks": "cosine(0.05..0.9, period=3h, shift=90m, noise=0.05)",
    "fast-wave": "sine(0.1..1, period=3m)",
    "very-fast-wave": "sine(0.1..1, period=40s)",
    "walk": "random(0.4, rise=0.1, fall=0.1, low=0.05, high=1, step=1m)",
    "fast-walk": "random(0.4, rise=0.06, fall=0.06, low=0.05, high=1, step=10s)",
    "wild-walk": "random(0.4, rise=0.4, fall=0.4, low=0.05, high=1, step=1m)",
    "spikes-by-chance": "spikes(0.4, 1, base=0.15, chance=0.03, longest=3m, step=20s)",
    "noise-by-second": "spikes(0.2, 1, base=0.15, chance=0.2, longest=3s, step=1s)",
}
"""Name -> workload."""
