"""Gesscale (Arkian et al., ICCCN 2021): its monitor, its nodes and the policy."""
