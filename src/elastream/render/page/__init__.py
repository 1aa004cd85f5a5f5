"""The page of a recorded run."""
