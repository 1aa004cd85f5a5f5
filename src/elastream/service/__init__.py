"""What is served while a run goes on: the page and its stream."""
