"""What Spark does between a trigger and a commit, as a discrete-event simulation."""
