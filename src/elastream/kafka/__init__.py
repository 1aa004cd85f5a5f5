"""All that touches Kafka."""
