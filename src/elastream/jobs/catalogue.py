"""All jobs: importing this module registers them."""

from elastream.jobs import passing as passing
from elastream.jobs import wordcount as wordcount
from elastream.jobs.job import jobs

__all__ = ["jobs"]
