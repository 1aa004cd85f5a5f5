"""What snapshots mean: trackers of queries, sources, operators and the pool, and probes of what has arrived."""
