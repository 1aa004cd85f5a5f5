"""Running the experiments of a plan: here, in several processes, or as a Spark job."""
