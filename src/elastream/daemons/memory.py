"""Sizes of memory as users of a JVM write them."""

import re


def mebibytes(size: str) -> int:
    """`512m` or `4g`; 0 for what is none."""
    found = re.fullmatch(r"(\d{1,6})([mg])b?", size.strip().lower())
    return int(found[1]) * {"m": 1, "g": 1024}[found[2]] if found else 0
