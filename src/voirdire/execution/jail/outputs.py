"""Compares what a program wrote with what it had to write."""

from decimal import Decimal, InvalidOperation
from itertools import zip_longest


def same_output(expected: str, output: str) -> bool:
    """Return whether two texts agree line by line: white space at the ends does not count, equal numbers are equal."""
    wanted, written = expected.strip().splitlines(), output.strip().splitlines()
    return all(
        one is not None and other is not None and _same_line(one, other)
        for one, other in zip_longest(wanted, written)
    )


def _same_line(expected: str, output: str) -> bool:
    if expected.strip() == output.strip():
        return True
    wanted, written = expected.split(), output.split()
    return len(wanted) == len(written) and all(map(_same_word, wanted, written))


def _same_word(expected: str, output: str) -> bool:
    if expected == output:
        return True
    try:
        return len(output) < 100 and Decimal(expected) == Decimal(output)
    except InvalidOperation:
        return False
