"""The search for settings of policies: least cost at the promise, tuned on some loads and scored on others."""
