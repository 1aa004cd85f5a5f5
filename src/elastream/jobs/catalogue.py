"""All jobs: importing this module registers them."""

from elastream.jobs import aggregation as aggregation
from elastream.jobs import enrichment as enrichment
from elastream.jobs import nexmark as nexmark
from elastream.jobs import passing as passing
from elastream.jobs import taxi as taxi
from elastream.jobs import traffic as traffic
from elastream.jobs import wordcount as wordcount
from elastream.jobs import yahoo as yahoo
from elastream.jobs.job import jobs

__all__ = ["jobs"]
