"""What experiments leave behind: a folder for each, named by what was run and by the code that ran it."""
