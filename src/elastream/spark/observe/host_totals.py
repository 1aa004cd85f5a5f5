"""What all executors of a pool have used of their host, as totals that never fall though executors come and go."""

from __future__ import annotations

from collections.abc import Sequence

from elastream.core.observation import Reading
from elastream.spark.observe.host_usage import Usage


class HostTotals:
    """Known while the processes of all executors are seen."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[float, float]] = {}
        self._system_s = self._page_faults = 0.0
        self._host_cpu: float | None = None
        self._is_known = False

    def add(self, used: Sequence[Usage | None]) -> None:
        """What those that are registered have used by now; None for one that is not seen."""
        now: dict[int, tuple[float, float]] = {}
        self._is_known, self._host_cpu = bool(used), None
        for one in used:
            if one is None or one.system_s is None or one.page_faults is None:
                self._is_known = False
                continue
            now[one.pid] = one.system_s, one.page_faults
            # One that is new has started, which is no work; a Python worker that was killed takes its own with it.
            before = self._before.get(one.pid, now[one.pid])
            self._system_s += max(0.0, one.system_s - before[0])
            self._page_faults += max(0.0, one.page_faults - before[1])
            self._host_cpu = one.host_cpu
        self._before = now

    def readings(self, at_s: float) -> dict[str, Reading | None]:
        """Fields of the pool."""
        if not self._is_known:
            return {}
        return {
            "system_s": Reading(self._system_s, at_s),
            "page_faults": Reading(self._page_faults, at_s),
            "host_cpu": None if self._host_cpu is None else Reading(self._host_cpu, at_s),
        }
