"""A text of the JVM, as Python sees it."""


class JavaBuilder:
    """A `StringBuilder` that notes how much was asked for at a time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[int] = []

    def length(self) -> int:
        return len(self.text)

    def substring(self, start: int, end: int) -> str:
        self.asked.append(end - start)
        return self.text[start:end]
