"""Events made from their offsets: what they are, when they arrive, and their bytes on the wire."""
