"""How the number of executors is changed while queries run."""
