"""The report on a folder of runs: one HTML file, and the same as Markdown and CSV."""
