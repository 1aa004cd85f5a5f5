"""What a simulated loop survives, told on stderr with the name of the policy that met it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from elastream.cli.terminal.output import tell


class _Teller(logging.Handler):
    def __init__(self, label: str) -> None:
        super().__init__()
        self._label = label

    def emit(self, record: logging.LogRecord) -> None:
        tell(f"{self._label}: {record.getMessage()}")


@contextmanager
def troubles_told(label: str) -> Iterator[None]:
    """What the loop survives is told with the name of the policy that met it."""
    log, teller = logging.getLogger("elastream"), _Teller(label)
    propagates, log.propagate = log.propagate, False
    log.addHandler(teller)
    try:
        yield
    finally:
        log.removeHandler(teller)
        log.propagate = propagates
