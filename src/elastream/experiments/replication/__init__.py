"""Published evaluations, run again: what runs gave beside what a document's tables say."""
