"""The last look at what goes to a terminal: rich passes on escape sequences that stand in a text."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from elastream.core.printable import visible


class SafeConsole(Console):
    """Prints visible characters only; colours, and what moves the cursor, are rich's own and no text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Everything that is printed, tables, bars and pictures that move among it, passes through here."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
