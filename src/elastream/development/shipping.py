"""Code of ours that runs on executors which do not have Elastream.

It travels inside the pickled task, by value: some kilobytes. A zip given to `addPyFile` would stand before the
installed package on the path of every Python worker, those beside the driver included, and needs the file server.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

PACKAGE = "elastream"


def ship_by_value() -> None:
    """From now on, what this process pickles for Spark carries Elastream's code with it."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[PACKAGE])  # type: ignore[no-untyped-call]


@contextmanager
def shipped_by_value() -> Iterator[None]:
    """The same for what is pickled inside the block: in a driver, the user's own pickles are not ours to change."""
    from pyspark import cloudpickle

    already = PACKAGE in cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    ship_by_value()
    try:
        yield
    finally:
        if not already:
            cloudpickle.unregister_pickle_by_value(sys.modules[PACKAGE])  # type: ignore[no-untyped-call]
