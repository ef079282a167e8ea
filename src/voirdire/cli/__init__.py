"""The command line: one file per command; the only room that prints, reads the environment or exits."""
