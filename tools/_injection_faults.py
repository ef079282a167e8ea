"""Functions of a JavaScript or Go file, and the small faults that can be put into one: a flipped comparison, off by one and so on."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from voirdire.edits._inject_places import GO_FUNCTIONS, JS_FUNCTIONS
from voirdire.edits._inject_trees import Node, Program, nodes, program_or_reason, text_of

SHORTEST, LONGEST = 5, 80
"""Lines of a function that is taken."""

_FLIPPED = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "===": "!==",
    "!==": "===",
}
_LOGIC = {"&&": "||", "||": "&&"}
_SIGN = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
_TRUTH = {"true": "false", "false": "true"}


@dataclass(frozen=True)
class Function:
    """A function: its name and lines (from 1, both included), where its body stands, and the comment directly above it."""

    name: str
    first: int
    last: int
    start: int
    end: int
    comment: str

    @property
    def lines(self) -> frozenset[int]:
        return frozenset(range(self.first, self.last + 1))


@dataclass(frozen=True)
class Fault:
    """One fault: what it is called, in which line it stands, what became of what, and the whole faulty text."""

    kind: str
    line: int
    old: str
    new: str
    source: str


def functions(source: str, language: str) -> list[Function]:
    """Return the functions of a file that are long enough, outer ones first."""
    program = program_or_reason(source, language)
    if isinstance(program, str):
        return []
    found = [_function(program, node) for node in nodes(program.root, *_kinds(language))]
    return [one for one in found if one is not None and SHORTEST <= one.last - one.first + 1 <= LONGEST]


def _kinds(language: str) -> frozenset[str]:
    return GO_FUNCTIONS - {"func_literal"} if language == "go" else JS_FUNCTIONS


def _function(program: Program, node: Node) -> Function | None:
    body = node.child_by_field_name("body")
    if body is None or body.type not in ("block", "statement_block"):
        return None
    name = _name(node)
    if name is None:
        return None
    first, last = program.line_of(node.start_byte), program.line_of(node.end_byte - 1)
    return Function(name, first, last, body.start_byte, body.end_byte, _comment_above(program, first))


def _name(node: Node) -> str | None:
    """Return what a function is called, or what it is given to; None for one that is only handed on."""
    own = node.child_by_field_name("name")
    if own is not None:
        return text_of(own)
    for field in ("left", "name", "key"):
        named = node.parent.child_by_field_name(field)
        if named is not None:
            return text_of(named)
    return None


def _comment_above(program: Program, line: int) -> str:
    texts: list[str] = []
    for comment in reversed(program.comments):
        if program.line_of(comment.end - 1) == line - 1 and not comment.text.startswith("//go:"):
            texts.insert(0, comment.text)
            line = program.line_of(comment.start)
    words = "\n".join(texts).replace("/*", " ").replace("*/", " ").split("\n")
    return " ".join(" ".join(word.lstrip("/* \t") for word in words).split())


def faults(source: str, language: str, function: Function, *, seed: int) -> list[Fault]:
    """Return the faults that can be put into a function, in a seeded order; each faulty text parses."""
    program = program_or_reason(source, language)
    assert isinstance(program, Program)
    found = list(_faults(program, function))
    random.Random(seed).shuffle(found)
    return [fault for fault in found if isinstance(program_or_reason(fault.source, language), Program)]


def _faults(program: Program, function: Function) -> Iterator[Fault]:
    for token in program.tokens:
        if not function.start < token.start < function.end:
            continue
        old = token.text.decode()
        for kind, new in _becomes(token.kind, old, program.is_go):
            text = (program.raw[: token.start] + new.encode() + program.raw[token.end :]).decode()
            yield Fault(kind, program.line_of(token.start), old, new, text)


def _becomes(kind: str, text: str, is_go: bool) -> Iterator[tuple[str, str]]:
    if kind in _FLIPPED:
        yield "flipped comparison", _FLIPPED[kind]
    elif kind in _LOGIC:
        yield "swapped logic", _LOGIC[kind]
    elif kind in _SIGN:
        yield "swapped sign", _SIGN[kind]
    elif kind in _TRUTH:
        yield "flipped truth", _TRUTH[kind]
    elif kind in ("number", "int_literal") and text.isdecimal():
        yield "off by one", str(int(text) + 1)
    elif kind == "return" and not is_go:
        yield "dropped return", ""
