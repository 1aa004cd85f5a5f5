"""Dhalion (Floratou et al., VLDB 2017): symptoms, and the policy that explains and resolves them."""
