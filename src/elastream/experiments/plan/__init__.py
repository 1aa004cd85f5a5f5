"""Plans: one file that says what is measured and how, and the experiments that follow from it."""
