"""Who is paid for: one count, for the numbers of a run and for the budget that limits them."""

from elastream.core.observation import Observation


def count_paid(now: Observation) -> int:
    """Workers that somebody pays for: from their request until they have left.

    Over all pools, `max(requested, ready) + leaving`: those requested and not ready are starting, those ready beyond
    the request are about to be told to go. What was requested from a cluster that is known to have no room for it does
    not start and costs nothing, so that the sum is at most `cluster_workers`, or what is there already if that is more.
    A request counts from the look that shows it: a decision does not tell whether it was carried out.
    """
    paid = sum(max(pool.requested, pool.ready) + pool.leaving for pool in now.pools)
    if now.cluster_workers is None:
        return paid
    return min(paid, max(now.cluster_workers, sum(pool.ready + pool.leaving for pool in now.pools)))
