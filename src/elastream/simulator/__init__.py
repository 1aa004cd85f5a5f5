"""A world to try policies in: the same Platform as live Spark, in virtual time."""
