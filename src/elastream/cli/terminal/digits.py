"""Numbers that can be read from across the room: digits three lines high."""

HEIGHT = 3
_GLYPHS = {
    "0": ("█▀█", "█ █", "▀▀▀"),
    "1": ("▀█ ", " █ ", "▀▀▀"),
    "2": ("▀▀█", "█▀▀", "▀▀▀"),
    "3": ("▀▀█", " ▀█", "▀▀▀"),
    "4": ("█ █", "▀▀█", "  ▀"),
    "5": ("█▀▀", "▀▀█", "▀▀▀"),
    "6": ("█▀▀", "█▀█", "▀▀▀"),
    "7": ("▀▀█", "  █", "  ▀"),
    "8": ("█▀█", "█▀█", "▀▀▀"),
    "9": ("█▀█", "▀▀█", "▀▀▀"),
    ".": (" ", " ", "▀"),
    "-": ("  ", "▀▀", "  "),
}
CHARACTERS = "█▀"
"""What a terminal must be able to show."""


def draw_digits(text: str) -> tuple[str, ...]:
    """The lines of a number; `-` stands for an unknown one."""
    return tuple(" ".join(_GLYPHS[character][row] for character in text) for row in range(HEIGHT))


def shorten(value: float) -> tuple[str, str]:
    """Three characters at most, and the unit that they are in: 2.4 and k."""
    for suffix, multiple in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        # What rounds up to the next unit is written in it.
        if value >= multiple * 0.9995:
            return _short(value / multiple), suffix
    return f"{value:.0f}", ""


def shorten_time(seconds: float) -> tuple[str, str]:
    """The same for a time: 4.1 and s."""
    for suffix, unit_s in (("h", 3600.0), ("m", 60.0)):
        # Three digits of seconds are still read at a glance; four are not.
        if seconds >= 999.5 and seconds >= unit_s * 16:
            return _short(seconds / unit_s), suffix
    return _short(seconds), "s"


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
