"""What people write on a command line, read with errors that name the option."""
