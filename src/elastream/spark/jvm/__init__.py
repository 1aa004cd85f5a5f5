"""What the driver's JVM says: the Java inside it, its compiler, and one snapshot per tick."""
