"""A Spark cluster on this machine: a standalone master and workers, closed to others."""
