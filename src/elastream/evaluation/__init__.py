"""The numbers of a run, each with one definition, from ticks that are live, simulated or recorded."""
