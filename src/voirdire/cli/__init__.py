"""The command line: one file per command; the only room that prints, reads the environment or exits.

Each file defines `command`, whose parameters are the options and whose docstring is the help; what it returns is
the exit code (None: 0). The first line of the file stands in `voirdire --help`.
"""

from voirdire.cli._main import run as run
