"""What executors use by what was answered, on the clock of the loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from elastream.core.observation import Reading
from elastream.spark.observe.prometheus.background import OutsideReadings


class OutsideUse(NamedTuple):
    """By executor; None where nobody asks."""

    cpu: Mapping[str, Reading] | None = None
    """Processors in use."""
    memory: Mapping[str, Reading] | None = None


def outside_use(
    outside: OutsideReadings, hosts: Mapping[str, str | None], *, at_s: float, ahead_s: float
) -> OutsideUse:
    """Of the executors with these hosts, at a time of the loop's clock; by `ahead_s`, UTC is ahead of that.

    What has grown too old is left out here already, so that it is told as lacking and for how many.
    """
    answers = outside.latest()
    # What a host uses is what its executor uses only where that is alone.
    on_host = Counter(hosts.values())

    is_host = outside.labels.is_host
    keys = {name: host if is_host else name for name, host in hosts.items() if not is_host or on_host[host] == 1}

    def readings(found: Mapping[str, Reading]) -> dict[str, Reading]:
        said = {name: found[key] for name, key in keys.items() if key is not None and key in found}
        ours = {name: Reading(one.value, one.at_s - ahead_s) for name, one in said.items()}
        return {name: one for name, one in ours.items() if at_s - one.at_s <= outside.max_age_s}

    return OutsideUse(
        cpu=readings(answers.cpu) if "cpu" in outside.subjects else None,
        memory=readings(answers.memory) if "memory" in outside.subjects else None,
    )
