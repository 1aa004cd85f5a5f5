"""The same loop runs in wall time or in virtual time: only the clock differs."""

import threading
import time


class SystemClock:
    """Wall time. Sleeping ends early when `wake` is called."""

    def __init__(self) -> None:
        # The machine's monotonic clock begins anew with every boot, and elsewhere on another machine. Counted from UTC,
        # what a restored snapshot remembers of times is still in the past.
        self._zero_s = time.time() - time.monotonic()
        self._wake = threading.Event()

    def now_s(self) -> float:
        """Seconds since 1970 as of the start, then monotonic: setting the machine's time does not move it."""
        return self._zero_s + time.monotonic()

    def utc_s(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep_until(self, at_s: float) -> None:
        """Wait, unless woken."""
        self._wake.wait(max(0.0, at_s - self.now_s()))

    def wake(self) -> None:
        """End the present and every later sleep."""
        self._wake.set()


class VirtualClock:
    """Time that passes only when someone sleeps."""

    def __init__(self, *, utc_s: float = 0.0) -> None:
        self._now_s = 0.0
        self._utc_s = utc_s

    def now_s(self) -> float:
        """Seconds since the start of the run."""
        return self._now_s

    def utc_s(self) -> float:
        """The UTC time at the start, plus what has passed."""
        return self._utc_s + self._now_s

    def sleep_until(self, at_s: float) -> None:
        """Jump there; never back."""
        self._now_s = max(self._now_s, at_s)
