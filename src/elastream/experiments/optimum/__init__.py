"""The cheapest schedule of sizes that keeps a promise when all that will arrive is known: bounds, and a plan."""
