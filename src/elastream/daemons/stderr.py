"""Where programs that are started here write what goes wrong."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def stderr_to(file: Path) -> Iterator[None]:
    """Processes that are started meanwhile write there for as long as they live, and not over a picture."""
    kept = os.dup(2)
    to = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(to, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(to)
