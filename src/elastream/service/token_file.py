"""The token of a page: who knows it may control the run. It lies in a file that only its owner can read."""

import secrets
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.daemons.private_folder import own_folder, read_private, write_private

SHORTEST = 24
"""Characters. Who guesses once a second needs ages, also of a token that somebody made up."""


def read_token(path: Path) -> str:
    """The token in a file of ours, made if there is none; BadInput where others could know it."""
    path = path.expanduser().absolute()
    try:
        with own_folder(path.parent) as folder:
            try:
                found = read_private(folder, path).strip()
            except FileNotFoundError:
                found = secrets.token_urlsafe(32)
                write_private(path, f"{found}\n")
    except FileNotFoundError:
        raise BadInput(f"page.token: {path.parent}: there is no such folder; make it, open to you alone") from None
    except UnicodeDecodeError:
        raise BadInput(f"page.token: {path}: it is not text; remove it, and a new one is made") from None
    except OSError as wrong:
        raise BadInput(f"page.token: {path}: {wrong.strerror}") from None
    if len(found) < SHORTEST or not (found.isascii() and found.isprintable()) or " " in found:
        raise BadInput(
            f"page.token: {path}: it must hold one word of at least {SHORTEST} characters; remove it, and one is made"
        )
    return found
