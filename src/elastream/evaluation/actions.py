"""How often the size of a job was changed."""

from collections.abc import Mapping

from elastream.core.tick import Tick


class ActionCount:
    """Changes of a job, as its ticks tell them.

    One tick is one action, however many pools it changes. The same change on looks in a row is one that has not been
    carried out yet, and counts once.
    """

    def __init__(self) -> None:
        self.actions = 0
        self.grown = 0
        """Of them, those after which there are more workers, over all pools."""
        self.shrunk = 0
        self._last: Mapping[str, tuple[int, int]] = {}

    def update(self, tick: Tick) -> None:
        """Take in one tick."""
        if tick.observation is None or tick.decision is None:
            return
        changes = tick.decision.changes(tick.observation)
        if changes and changes != self._last:
            grown = sum(after - before for before, after in changes.values())
            self.actions += 1
            self.grown += grown > 0
            self.shrunk += grown < 0
        self._last = changes
