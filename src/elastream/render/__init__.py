"""What is drawn and written for people: pure, from values to text, SVG and HTML."""
