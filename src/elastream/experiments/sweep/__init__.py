"""Plans of simulated experiments as Spark jobs: experiments are rows, which executors run and store."""
