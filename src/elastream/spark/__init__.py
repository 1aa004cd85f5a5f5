"""All that touches Spark."""
