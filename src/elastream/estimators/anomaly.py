"""When a job has recovered: the stretch in which what it takes in strays from what arrives.

Daedalus (3.5): workload less throughput is compared with its own running mean and standard deviation; further away than
one deviation is abnormal. All of the past counts, standstills among it, so that the noise of normal operation stays
within one deviation. Before the first standstill there is only noise, a third of which is further away than that;
hence the floor.
"""

from __future__ import annotations

from typing import NamedTuple

from elastream.estimators.moments import Moments


def strays(value: float, usual: Moments, *, floor: float = 0.0) -> bool:
    """Whether a value is abnormal; `floor` is a distance that never is."""
    return usual.n > 1 and abs(value - usual.mean) > max(usual.deviation, floor)


class AnomalyWatch(NamedTuple):
    """A recovery being watched, from the first abnormal look to the last. A value, as `Moments` is."""

    since_s: float
    first_s: float | None = None
    last_s: float | None = None

    def see(self, at_s: float, is_abnormal: bool) -> AnomalyWatch:
        """After one more look."""
        if not is_abnormal:
            return self
        return self._replace(first_s=at_s if self.first_s is None else self.first_s, last_s=at_s)

    def is_over(self, at_s: float, *, quiet_s: float, longest_s: float) -> bool:
        """Whether nothing abnormal was seen for long enough, or the watch has been too long."""
        quiet_since_s = self.since_s if self.last_s is None else self.last_s
        return at_s - quiet_since_s > quiet_s or at_s - self.since_s > longest_s

    @property
    def took_s(self) -> float:
        """The recovery time measured so far."""
        return 0.0 if self.first_s is None or self.last_s is None else self.last_s - self.first_s
