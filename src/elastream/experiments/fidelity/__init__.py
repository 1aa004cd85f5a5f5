"""How far the simulator is off: runs on executors beside what a model of one of them says of the others."""
