"""What is shown to people outside the terminal: the page of a recorded run."""

from elastream.service.page import page, write_page

__all__ = ["page", "write_page"]
