"""The pure part: what is seen, what is decided, and what stands between the two. Start with `protocols`."""
