"""A folder of runs as one archive that others can cite, run again and compare."""
