"""Daedalus (Pfister et al., ICPE 2024): what it learns, and the policy."""
