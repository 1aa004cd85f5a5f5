"""Python's garbage collector, kept out of the middle of a tick."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collector() -> Iterator[None]:
    """Collect no cycles within the block, if anybody collects them at all.

    A look at a thousand executors makes tens of thousands of values and hardly a cycle. The collector counts the values
    all the same, and walks through everything the process holds again and again: some 50 ms each time, in every third
    tick. What is left to collect it finds afterwards.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
