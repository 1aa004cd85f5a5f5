"""Kubernetes' horizontal pod autoscaler: its rule, and the behaviour that damps it."""
