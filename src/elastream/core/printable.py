"""Text that a person can see: whoever names a query, or writes a record that an error quotes, steers no terminal.

Control characters (C0, C1, DEL), those that turn text around or have no width, half surrogate pairs and whatever else
has no picture become a mark; line ends and tabs become a space.
"""

MARK = "\ufffd"
"""Stands where a character was that cannot be seen."""


def one_line(text: str) -> str:
    """Text as one line of visible characters."""
    return text if text.isprintable() else "".join(_seen(character) for character in text)


def visible(text: str) -> str:
    """The same with line ends and tabs kept, for places that have lines of their own."""
    return text if text.isprintable() else "".join(c if c in "\n\t" else _seen(c) for c in text)


def _seen(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else MARK
