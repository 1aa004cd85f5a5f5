"""Experiments: what is run, what came of it, and what it leaves behind."""
