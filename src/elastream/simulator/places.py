"""Nodes that are free: each takes one worker."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from elastream.simulator.continuous.model import PlacesModel


class FreeNodes:
    """Which nodes have no worker. Several pools may draw from them."""

    def __init__(self, model: PlacesModel) -> None:
        self.model = model
        self.free = list(model.nodes)

    def take(self, random: Random, wished: Sequence[str] = ()) -> str:
        """The first free node of those wished for, or any."""
        node = next((node for node in wished if node in self.free), None) or random.choice(self.free)
        self.free.remove(node)
        return node

    def give_back(self, node: str) -> None:
        """A worker has left; nodes keep their order, so that draws depend on nothing but the seed."""
        self.free = [one for one in self.model.nodes if one in self.free or one == node]
