"""A Kafka broker on this machine, its jars, its topics, and a producer of events that are due."""
