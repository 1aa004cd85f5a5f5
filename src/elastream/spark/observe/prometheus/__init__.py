"""What Spark does not know of executors and sources, asked of Prometheus: `background` asks, `questions` concludes."""
