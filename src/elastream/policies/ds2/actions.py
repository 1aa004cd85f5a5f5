"""What became of DS2's changes: whether a growth helped, did harm, or showed that an operator is not data-parallel.

All of it compares the intervals before and after a change, and only at equal load.
"""

from collections.abc import Mapping
from typing import TypedDict

from elastream.core.observation import Observation
from elastream.policies.ds2.interval import Numbers

# A load within this share of another is the same load.
_SAME_LOAD = 0.1
# How long a change takes as long as none was seen: redeployments in the paper took 30 to 50 s.
_FIRST_GUESS_S = 30.0
# Who has doubled in vain is not data-parallel. A smaller growth may cost as much as it brings, for instance because
# another machine is needed: in the paper's own run on Flink ten instances of an operator became fourteen, which did
# hardly more, and then nineteen, which did enough. It takes two of these.
_DOUBLED, _IN_VAIN = 2.0, 2


class AtLoad(TypedDict):
    """Something that was found at a load, and holds there."""

    load_rps: float
    times: int
    allocation: dict[str, int]


class DS2Change(TypedDict):
    """A change of sizes, and how things stood before it."""

    before: dict[str, int]
    after: dict[str, int]
    load_rps: float
    achieved: float
    """Share of the arrival rate."""
    is_corrected: bool
    is_for_lag: bool
    """Whether it was corrected to work off lag, and not because the query fell behind."""


class Acted(TypedDict):
    """What is remembered of changes."""

    open: DS2Change | None
    """The last change, until it has been judged."""
    is_under_way: bool
    began_s: float
    took_s: float
    useless: AtLoad | None
    """Growths in a row that did not help."""
    uncorrected: AtLoad | None
    """A correction that did not help."""
    enough: AtLoad | None
    """Sizes that a correction has shown to be enough, or that were given up and were needed after all."""
    shrunk: AtLoad | None
    """Sizes before the last shrinking."""
    refused: AtLoad | None
    """Sizes that did harm."""
    back: dict[str, int] | None
    """Sizes to go back to."""
    grew: dict[str, list[float]]
    """'query/operator' -> slots and true rate per slot before it grew, and growths in vain before that."""


def nothing() -> Acted:
    """No change was made."""
    return {
        "open": None, "is_under_way": False, "began_s": 0.0, "took_s": _FIRST_GUESS_S, "useless": None,
        "uncorrected": None, "enough": None, "shrunk": None, "refused": None, "back": None, "grew": {},
    }  # fmt: skip


def achieved_share(ratio: float | None) -> float:
    """Share of the arrival rate that is achieved. No ratio: nothing of it."""
    if ratio is None:
        return 0.0
    return min(1.0, 1.0 / ratio) if ratio > 0 else 1.0


def changed(
    acted: Acted,
    now: Observation,
    before: dict[str, int],
    change: DS2Change | None,
    rates: Mapping[str, Numbers],
    least_gain: float,
) -> Acted:
    """Sizes have changed; `rates` are those of operators with a pool of their own, before the change."""
    slots_per_worker = {pool.name: pool.slots_per_worker for pool in now.pools}
    wanted, grew = now.wanted(), dict(acted["grew"])
    for query in now.queries:
        for operator in query.topology.operators:
            name, pool = f"{query.id}/{operator.name}", operator.pool
            if wanted.get(pool, 0) < before.get(pool, 0):
                grew.pop(name, None)
            rate = rates.get(name, [None])[0]
            if rate and 0 < before.get(pool, 0) < wanted.get(pool, 0):
                slots = float(before[pool] * slots_per_worker[pool])
                grew[name] = [slots, rate, _in_vain(grew.get(name), slots, rate, least_gain)]
    return {**acted, "open": change, "back": None, "is_under_way": True, "began_s": now.at_s, "grew": grew}


def needed_after_all(acted: Acted, change: DS2Change) -> Acted:
    """The same after a change: what is asked for again after it was given up at this load is not given up there again.

    Useful time misses more of the cost at low load, so that sizes just above what is needed may seem too large.
    """
    load_rps, before, shrunk = change["load_rps"], change["before"], acted["shrunk"]
    given_up = shrunk["allocation"] if shrunk and holds(shrunk, load_rps) else {}
    again = {
        pool: size for pool, size in change["after"].items() if before.get(pool, size) < size <= given_up.get(pool, 0)
    }
    if any(size < before.get(pool, size) for pool, size in change["after"].items()):
        shrunk = {"load_rps": load_rps, "times": 1, "allocation": before}
    enough = acted["enough"]
    if again:
        floor = enough["allocation"] if enough and holds(enough, load_rps) else {}
        enough = {"load_rps": load_rps, "times": 1, "allocation": floor | again}
    return {**acted, "shrunk": shrunk, "enough": enough}


def with_floor(sizes: dict[str, int], enough: AtLoad | None, load_rps: float) -> dict[str, int]:
    """Not less than what has been shown to be needed at this load, or it would be given up again and again."""
    if enough is None or not holds(enough, load_rps):
        return sizes
    return {pool: max(size, enough["allocation"].get(pool, 0)) for pool, size in sizes.items()}


def settled(acted: Acted, now: Observation) -> Acted:
    """The same after a look that may show a change to be done."""
    if not acted["is_under_way"] or any(pool.in_flux for pool in now.pools):
        return acted
    if any(query.phase in ("starting", "restarting") for query in now.queries):
        return acted
    return {**acted, "is_under_way": False, "took_s": now.at_s - acted["began_s"]}


def judged(acted: Acted, load_rps: float, ratio: float | None, noise: float, least_gain: float, harm: float) -> Acted:
    """What an interval after a change says about it."""
    change = acted["open"]
    after: Acted = {**acted, "open": None, "back": None}
    if change is None or not _grows(change) or not is_same_load(load_rps, change["load_rps"]):
        return after
    gain, lacked = achieved_share(ratio) - change["achieved"], 1.0 - change["achieved"]
    if achieved_share(ratio) >= 1.0 - noise or gain >= least_gain * lacked > 0:
        after["useless"] = None
        if change["is_corrected"] and not change["is_for_lag"]:
            after["enough"] = {"load_rps": load_rps, "times": 1, "allocation": change["after"]}
        return after
    times = acted["useless"]["times"] + 1 if holds(acted["useless"], load_rps) and acted["useless"] else 1
    after["useless"] = {"load_rps": load_rps, "times": times, "allocation": change["after"]}
    if change["is_corrected"]:
        after["uncorrected"] = {"load_rps": load_rps, "times": 1, "allocation": change["after"]}
        after["enough"] = None
    # Pools that came or went meanwhile cannot be gone back to.
    if gain < -harm * change["achieved"] and change["before"].keys() == change["after"].keys():
        after["refused"] = {"load_rps": load_rps, "times": 1, "allocation": change["after"]}
        after["back"] = change["before"]
    return after


def holds(found: AtLoad | None, load_rps: float) -> bool:
    """Whether something was found, at a load like this."""
    return found is not None and is_same_load(load_rps, found["load_rps"])


def is_same_load(load_rps: float, before_rps: float) -> bool:
    """Whether two loads can be compared."""
    return abs(load_rps - before_rps) <= _SAME_LOAD * before_rps


def serial(acted: Acted, now: Observation, rates: Mapping[str, Numbers], least_gain: float) -> set[str]:
    """Operators that grew far, or twice, and do hardly more than before: not data-parallel, whatever their tag says."""
    found: set[str] = set()
    if not acted["grew"]:
        return found
    slots = {pool.name: float(pool.slots) for pool in now.pools}
    for query in now.queries:
        for operator in query.topology.operators:
            name = f"{query.id}/{operator.name}"
            rate = rates.get(name, [None])[0]
            before, have = acted["grew"].get(name), slots.get(operator.pool, 0.0)
            if rate is not None and _in_vain(before, have, rate, least_gain) >= _IN_VAIN:
                found.add(name)
    return found


def _in_vain(before: list[float] | None, slots: float, rate: float, least_gain: float) -> float:
    """Growths in a row that an operator did hardly more after, the last one among them; a doubling counts for two."""
    if before is None or slots <= before[0]:
        return 0.0
    expected = slots / before[0] - 1.0
    helped = slots * rate / (before[0] * before[1]) - 1.0 >= least_gain * expected
    return 0.0 if helped else before[2] + (_IN_VAIN if slots >= _DOUBLED * before[0] else 1.0)


def _grows(change: DS2Change) -> bool:
    return sum(change["after"].values()) > sum(change["before"].values())
