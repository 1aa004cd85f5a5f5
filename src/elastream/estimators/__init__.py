"""What policies learn with."""
