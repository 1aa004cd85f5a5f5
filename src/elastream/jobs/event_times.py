"""When a message's time can be: told once, as SQL that Spark and DuckDB read alike."""

from __future__ import annotations

AHEAD_S = 60.0
"""So far an event's time may be ahead of its arrival: clocks of machines agree better than that, and one event from the
future ends every window before it, so that whatever others send until then comes too late."""

# Clocks that were never set begin in 1970 or 1980.
_EARLIEST = "1990-01-01T00:00:00Z"


def in_time(arrival: str, ahead_s: float) -> str:
    """Whether an event, which came when `arrival` says, may bear the time it bears.

    What comes from long ago harms nobody: the watermark has passed it, or nobody asks for its time.
    """
    ahead = f"INTERVAL '{round(ahead_s * 1e6)} microseconds'"
    return f"event_time >= '{_EARLIEST}' AND event_time <= {arrival} + {ahead}"
