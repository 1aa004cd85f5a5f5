"""Phoebe (Geldenhuys et al., ICWS 2022): its models, the profile that it makes in place, and what it chooses."""
