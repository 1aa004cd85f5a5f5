"""Options that are given as KEY=VALUE, several times."""

from collections.abc import Sequence

from elastream.core.errors import BadInput


def read_pairs(texts: Sequence[str], flag: str) -> dict[str, str]:
    """Keys and values; a key may stand once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            # Without its text: what stands there may be a secret.
            raise BadInput(f"{flag}: write it as KEY=VALUE")
        if name.strip() in found:
            raise BadInput(f"{flag} {name.strip()}: it is given twice")
        found[name.strip()] = value
    return found
