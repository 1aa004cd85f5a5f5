"""How far a run of the producer has come, and what is said about it at the end."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One look at a run. Events before its first one do not count."""

    at_s: float
    """Since the run began."""
    due: int
    written: int
    """Handed to librdkafka, which sends them."""
    acknowledged: int
    late_s: float
    """How long the oldest event that is not acknowledged has been due; 0 where no schedule is kept."""

    @property
    def behind(self) -> int:
        """Events that are due and not acknowledged."""
        return self.due - self.acknowledged


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerVerdict:
    """What became of the events of a run."""

    wanted: int
    """Events that were to be in the topic: all of the run, or those written before it was stopped."""
    acknowledged: int
    next_offset: int
    """The first event that is not acknowledged, where another run may go on."""
    took_s: float
    intended_rps: float | None
    """None: as fast as possible, or too short to have a rate."""
    worst_late_s: float
    worst_behind: int
    trouble: str | None = None
    """What ended the run before its end."""

    @property
    def right(self) -> bool:
        """Whether every event is in the topic."""
        return self.acknowledged == self.wanted and self.trouble is None

    @property
    def achieved_rps(self) -> float:
        return self.acknowledged / self.took_s if self.took_s > 0 else 0.0

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        acknowledged = f"{self.acknowledged:,} events acknowledged"
        if self.acknowledged < self.wanted:
            acknowledged = f"{self.acknowledged:,} of {self.wanted:,} events acknowledged"
        rates = f"achieved {self.achieved_rps:,.0f}/s over {self.took_s:.1f} s"
        if self.intended_rps is not None:
            rates = f"intended {self.intended_rps:,.0f}/s, {rates}; worst lateness {self.worst_late_s:.2f} s"
            rates += f" ({self.worst_behind:,} events behind)"
        return f"{acknowledged}; {rates}; next offset {self.next_offset}"

    @property
    def failure(self) -> str:
        """What is wrong, for whoever reads only the error."""
        lost = self.wanted - self.acknowledged
        ended = self.trouble or "no answer from the broker"
        return (
            f"produce: {lost:,} events were not acknowledged: {ended}; the first of them is {self.next_offset}, and"
            " later ones of other partitions may be in the topic"
        )
