"""What a run writes down, and what is made of it again: read, planned anew, resumed, told."""
