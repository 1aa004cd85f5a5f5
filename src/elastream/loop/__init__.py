"""The loop: look, plan, guard, apply, tell."""
