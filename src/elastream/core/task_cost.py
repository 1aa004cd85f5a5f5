"""What tasks spent their slots on, by what they told when they ended."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCost:
    """Of all tasks together. Seconds are slot-seconds, but for the last two, which are the clock's."""

    cpu_s: float = 0.0
    """Computed by their own threads; Python workers, collection of garbage and compiling are not in it."""
    gc_s: float = 0.0
    """Stood still while their executor collected garbage."""
    fetch_s: float = 0.0
    """Waited for what other executors had shuffled."""
    write_s: float = 0.0
    """Wrote what is shuffled."""
    scheduled_s: float = 0.0
    """From launch to end, less all that their executors took: on the way to them, and of their results back."""
    state_s: float = 0.0
    """Wrote state, and removed what is over."""
    spilled_bytes: float = 0.0
    """Written to disk for want of memory."""
    unplaced_s: float = 0.0
    """A slot was free, and tasks waited for one in a place that they would rather run in."""
    undispatched_s: float = 0.0
    """A slot was free, and tasks waited that would have run anywhere."""

    def plus(self, other: "TaskCost") -> "TaskCost":
        """Of both."""
        return TaskCost(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})
