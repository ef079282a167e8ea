"""Damage to working code, one kind at a time, each seeded and verified: what a judge of code must notice.

An extra closing bracket and a cut leave a program that does not parse; a deleted return and a renamed entry point
leave one that parses and is wrong. Code that a damage cannot be done to is a DataError that says why, so that whoever
asks can count it.
"""

import ast
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count

from voirdire.errors import DataError, UsageError
from voirdire.languages import python
from voirdire.languages.brackets import OPENER_OF, scan
from voirdire.languages.language import language_named

Parses = Callable[[Sequence[str]], Sequence[bool]]
"""Tells of several texts which parse; `languages.parsing.Parsers.parses` is one."""

CUT_BETWEEN = (0.3, 0.8)
"""A cut falls between these shares of the tokens: something of the answer is there, and something is missing."""

PLACES_TRIED = 32
"""Places at which a damage is tried before it is given up."""


class Corruption(StrEnum):
    """What is done to the code."""

    EXTRA_BRACKET = "extra closing bracket"
    CUT_OFF = "cut off"
    DELETED_RETURN = "deleted return"
    RENAMED_ENTRY_POINT = "renamed entry point"


@dataclass(frozen=True)
class Corrupted:
    """A damaged program: what was done, and at which offset of the old text."""

    code: str
    corruption: Corruption
    offset: int
    detail: str


def extra_bracket(code: str, *, seed: int, parses: Parses, language: str = "python") -> Corrupted:
    """Return the code with one closing bracket more, behind some token, verified not to parse."""
    ends = scan(code, language_named(language).skip).ends
    if not ends:
        raise DataError("there is no code to put a bracket into", hint="leave empty samples out")
    chosen = random.Random(seed)
    places = [(chosen.choice(ends), chosen.choice(sorted(OPENER_OF))) for _ in range(PLACES_TRIED)]
    texts = [code[:offset] + bracket + code[offset:] for offset, bracket in places]
    for (offset, bracket), text, good in zip(places, texts, parses(texts), strict=True):
        if not good:
            return Corrupted(text, Corruption.EXTRA_BRACKET, offset, f"'{bracket}' inserted")
    raise DataError("an extra bracket changes nothing here", hint="leave this sample out")


def cut_off(code: str, *, seed: int, parses: Parses, language: str = "python") -> Corrupted:
    """Return the beginning of the code, cut behind some token of its middle, verified not to parse."""
    ends = scan(code, language_named(language).skip).ends
    first, last = (int(len(ends) * share) for share in CUT_BETWEEN)
    places = list(ends[max(first, 1) : last])
    random.Random(seed).shuffle(places)
    texts = [code[:offset] for offset in places[:PLACES_TRIED]]
    for text, good in zip(texts, parses(texts) if texts else (), strict=True):
        if not good:
            lost = len(code) - len(text)
            return Corrupted(text, Corruption.CUT_OFF, len(text), f"the last {lost} characters are missing")
    raise DataError("the code parses wherever it is cut", hint="leave this sample out")


def deleted_return(code: str, *, seed: int) -> Corrupted:
    """Return Python code in which one `return` of a value has become `pass`, verified to parse, with one return less."""
    returns = _returns(python.tree_of(code))
    if not returns:
        raise DataError("nothing returns a value here", hint="leave this sample out")
    node = random.Random(seed).choice(returns)
    lines = code.encode().splitlines(keepends=True)
    start = _byte(lines, node.lineno, node.col_offset)
    end = _byte(lines, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    raw = b"".join(lines)
    text = (raw[:start] + b"pass" + raw[end:]).decode()
    if len(_returns(python.tree_of(text))) != len(returns) - 1:
        raise DataError("deleting a return changed something else too", hint="leave this sample out")
    return Corrupted(
        text,
        Corruption.DELETED_RETURN,
        len(raw[:start].decode()),
        f"the return on line {node.lineno} is gone",
    )


def renamed_entry_point(code: str, entry_point: str) -> Corrupted:
    """Return Python code whose tested function has another name, verified to parse and to miss the tested one."""
    if entry_point not in python.defined_functions(code):
        raise DataError(f"'{entry_point}' is no function here", hint="leave this sample out")
    new = next(name for number in count(2) if (name := f"{entry_point}_{number}") not in code)
    text = python.renamed(code, entry_point, new)
    if python.defines(text, entry_point):
        raise DataError(f"'{entry_point}' is still defined", hint="leave this sample out")
    return Corrupted(
        text, Corruption.RENAMED_ENTRY_POINT, code.index(entry_point), f"'{entry_point}' is now '{new}'"
    )


def chosen_for_dose(samples: int, share: float, *, seed: int) -> frozenset[int]:
    """Return the indexes of the samples that get a dose: `share` of them, rounded; a larger share holds a smaller one.

    Raises UsageError for a share outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise UsageError(f"a dose of {share:g} is none", hint="give a share between 0 and 1")
    order = list(range(samples))
    random.Random(seed).shuffle(order)
    return frozenset(order[: round(samples * share)])


def _returns(tree: ast.Module) -> list[ast.Return]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None]


def _byte(lines: Sequence[bytes], line: int, column: int) -> int:
    return sum(map(len, lines[: line - 1])) + column
