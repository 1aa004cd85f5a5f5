"""Queries to run, and how to know that their output is right."""
