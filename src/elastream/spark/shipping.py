"""Code of ours that runs on executors which do not have Elastream.

It travels inside the pickled task, by value: a few kilobytes. A zip given to `addPyFile` would stand before the
installed package on the path of every Python worker, those beside the driver included, and needs the file server.
"""


def ship_by_value() -> None:
    """From now on, what this process pickles for Spark carries Elastream's code with it."""
    # Imported here: a module that a shipped function mentions would be shipped as a whole.
    from pyspark import cloudpickle

    import elastream

    cloudpickle.register_pickle_by_value(elastream)  # type: ignore[no-untyped-call]
