"""What runs behind the driver: one launcher, a process that holds tests and one that forks candidates.

Everything here is started in a fresh interpreter and imports the standard library and its own room only.
"""
