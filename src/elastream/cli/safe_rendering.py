"""The last look at what goes to a terminal: rich keeps escape sequences that stand in a text."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from elastream.core.printable import visible


class Safe:
    """Something to print, with visible characters only; styles and what moves the cursor are rich's own."""

    def __init__(self, content: ConsoleRenderable) -> None:
        self.content = content

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        for segment in screen.render(self.content, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


class SafeRendering(RenderHook):
    """Everything that is printed on a console passes through here."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """The same, made safe."""
        return [Safe(one) for one in renderables]
