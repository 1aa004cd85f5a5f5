"""How far a job scales, in which direction, and what stops it (van Dongen and Van den Poel, 2021)."""
