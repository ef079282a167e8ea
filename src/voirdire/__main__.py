"""The program `voirdire`."""

from voirdire.cli import run


def main() -> None:
    """Run the command line and exit with its code."""
    raise SystemExit(run())


if __name__ == "__main__":
    main()
