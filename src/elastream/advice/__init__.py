"""What another policy, other bounds or another SLO would have come to: a recorded run, simulated again."""
