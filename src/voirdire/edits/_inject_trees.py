"""Programs in JavaScript, TypeScript and Go as edits see them: tokens, the gaps between them, comments, statements.

A gap is what stands between two tokens: blanks, line ends and comments. Where tokens, tree and the line ends in the gaps
are equal, two programs are one program to their compiler. Comments that speak to a tool (build tags, directives of lint
and type checkers, cgo preambles, the expected output of Go examples) are directives: a gap with one is never touched.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import import_module
from typing import Any

from voirdire.languages.language import grammar_version, language_named

LARGEST = 1_000_000
"""Bytes of a program that is read; edits are for what people write."""

TOO_DEEP = 500
"""Nodes within nodes beyond which a program is not read."""

DEEPEST = 200
"""Nodes within nodes up to which trees are walked by functions that call themselves."""

Node = Any
"""A node of tree-sitter, whose types are there only where it is installed."""

OPAQUE = frozenset(
    {"string", "regex", "interpreted_string_literal", "raw_string_literal", "rune_literal", "jsx_text"}
)
"""Nodes that are one token, whatever they are made of."""

STATEMENT_LISTS = {
    "javascript": frozenset({"program", "statement_block", "switch_case", "switch_default"}),
    "go": frozenset({"block", "expression_case", "type_case", "default_case", "communication_case"}),
}
STATEMENT_LISTS["typescript"] = STATEMENT_LISTS["javascript"]
"""Nodes whose children are statements, by language."""

_VERBATIM = frozenset({"template_string", "jsx_element", "jsx_fragment"})
"""Nodes between whose children blanks mean something."""

_JS_DIRECTIVE = re.compile(
    r"^//[/#@]|^/\*!|[@#]__(?:PURE|INLINE|NOINLINE|NO_SIDE_EFFECTS)__"
    r"|@(?:license|preserve|cc_on|jsx\w*|flow|noflow|ts-\w+|jest-\w+|vite-\w+|vitest-\w+)"
    r"|\$Flow|sourceMappingURL|#(?:end)?region"
    r"|^/[/*]\s*(?:eslint|jshint|jslint|tslint|standard|prettier|biome|deno|oxlint|xo|istanbul|c8|v8|webpack\w*|exported"
    r"|globals?|turbopack\w*|node:coverage|[jt]s-ignore)\b"
)
_GO_DIRECTIVE = re.compile(
    r"^//(?:[a-z0-9]+:[a-z0-9]|line\s|export\s|extern\s|nolint|sys|lint)|^/\*line\s|^//\s*\+build|^//\s*#nosec"
    r"|^(?://|/\*)\s*(?:unordered )?output:|^//\s*want\b|^// Code generated ",
    re.IGNORECASE,
)
_JS_LINE_END = re.compile(rb"[\n\r]|\xe2\x80[\xa8\xa9]")
_GO_LINE_END = re.compile(rb"\n")


@dataclass(frozen=True)
class Token:
    """One token. `start`, `end`: bytes of the source; `kind`: the grammar's name for it."""

    kind: str
    text: bytes
    start: int
    end: int


@dataclass(frozen=True)
class Comment:
    """One comment, in the gap before the token with number `gap`."""

    text: str
    start: int
    end: int
    gap: int


class Unreadable(Exception):
    """Why a text cannot be edited, in words that can be counted. Stays within this room."""


class Program:
    """A program that parses. Offsets are bytes of its UTF-8 text; lines are numbered from 1 and end at line feeds."""

    def __init__(self, source: str, language: str) -> None:
        self.language = language
        try:
            self.raw = source.encode()
        except UnicodeEncodeError:
            raise Unreadable("half a character") from None
        if len(self.raw) > LARGEST:
            raise Unreadable("too large")
        self.root = _parser(language).parse(self.raw).root_node
        if self.root.has_error:
            raise Unreadable("does not parse")
        self.tokens: list[Token] = []
        self.shape: list[tuple[int, str]] = []
        self.comments: list[Comment] = []
        self.depth = 0
        self._walk()

    @property
    def is_go(self) -> bool:
        """Whether this is Go; otherwise it is JavaScript or TypeScript."""
        return self.language == "go"

    @property
    def lists(self) -> frozenset[str]:
        """The nodes whose children are statements."""
        return STATEMENT_LISTS[self.language]

    def _walk(self) -> None:
        """Fill tokens, shape (depth and kind of every node but comments) and comments, in the order of the text."""
        stack: list[tuple[Node, int, bool]] = [(self.root, 0, False)]
        reached = 0
        while stack:
            node, depth, verbatim = stack.pop()
            if depth > TOO_DEEP:
                raise Unreadable("nested too deeply")
            if node.type == "comment":
                self._residue(reached, node.start_byte, depth)
                text = text_of(node).removesuffix("\r")
                end = node.start_byte + len(text.encode())
                self.comments.append(Comment(text, node.start_byte, end, len(self.tokens)))
                reached = max(reached, node.end_byte)
                continue
            self.depth = max(self.depth, depth)
            children = [] if node.type in OPAQUE else node.children
            if not children:
                reached = self._leaf(node, depth, reached, verbatim=verbatim)
                continue
            self.shape.append((depth, node.type))
            verbatim = node.type in _VERBATIM
            stack += [(child, depth + 1, verbatim) for child in reversed(children)]
        self._residue(reached, len(self.raw), 0)

    def _leaf(self, node: Node, depth: int, reached: int, *, verbatim: bool) -> int:
        """Keep a leaf as a token; what stands before it and is neither blank nor comment is kept as one too."""
        text = self.raw[node.start_byte : node.end_byte]
        if not text.strip() and node.type not in ("string_fragment", "jsx_text", "template_chars"):
            return reached
        self._residue(reached, node.start_byte, depth, verbatim=verbatim)
        self.shape.append((depth, node.type))
        self.tokens.append(Token(node.type, text, node.start_byte, node.end_byte))
        end: int = node.end_byte
        return max(reached, end)

    def _residue(self, start: int, end: int, depth: int, *, verbatim: bool = False) -> None:
        """Keep text that no leaf covers as a token: all of it where blanks mean something, else what is not blank."""
        between = self.raw[start:end]
        if between.strip() or (verbatim and between):
            self.shape.append((depth, "text"))
            self.tokens.append(Token("text", between, start, end))

    # --- gaps -----------------------------------------------------------------------------------------

    def gap(self, number: int) -> bytes:
        """Return what stands before the token with this number; the number of tokens gives what stands behind all."""
        start = self.tokens[number - 1].end if number else 0
        end = self.tokens[number].start if number < len(self.tokens) else len(self.raw)
        return self.raw[start:end]

    def ends_line(self, text: bytes) -> bool:
        """Whether a gap holds the end of a line, which may stand for a semicolon."""
        return bool((_GO_LINE_END if self.is_go else _JS_LINE_END).search(text))

    @cached_property
    def breaks(self) -> list[bool]:
        """Whether the gap before each token, and the one behind all, holds the end of a line."""
        return [self.ends_line(self.gap(number)) for number in range(len(self.tokens) + 1)]

    @cached_property
    def number_at(self) -> dict[int, int]:
        """The number of the token that starts at an offset."""
        return {token.start: number for number, token in enumerate(self.tokens)}

    @cached_property
    def fixed_gaps(self) -> frozenset[int]:
        """The gaps that must stay as they are: those with a directive, and in Go what precedes the package and `import "C"`."""
        fixed = {comment.gap for comment in self.comments if is_directive(comment.text, self.language)}
        if self.is_go:
            fixed.add(0)
            for node in nodes(self.root, "import_declaration"):
                if b'"C"' in self.raw[node.start_byte : node.end_byte]:
                    first, last = self.number_at[node.start_byte], node.end_byte
                    fixed |= {n for n in range(first, len(self.tokens)) if self.tokens[n].start < last}
        return frozenset(fixed)

    # --- lines ----------------------------------------------------------------------------------------

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer(rb"\n", self.raw))]

    def line_start(self, line: int) -> int:
        """Return the offset at which a line begins; behind the last one the end of the text."""
        return self._line_starts[line - 1] if line <= len(self._line_starts) else len(self.raw)

    def line_of(self, offset: int) -> int:
        """Return the number of the line that holds an offset."""
        return bisect_right(self._line_starts, int(offset))

    def indent(self, offset: int) -> str:
        """Return the blanks with which the line of an offset begins."""
        start = self.line_start(self.line_of(offset))
        line = self.raw[start:offset]
        return line[: len(line) - len(line.lstrip(b" \t"))].decode()

    @cached_property
    def newline(self) -> str:
        """How most lines end."""
        crlf = self.raw.count(b"\r\n")
        return "\r\n" if crlf * 2 > self.raw.count(b"\n") else "\n"

    def starts_line(self, node: Node) -> bool:
        """Whether nothing but blanks stands before a node on its line, and the line begins between two tokens."""
        number = self.number_at.get(node.start_byte)
        start = self.line_start(self.line_of(node.start_byte))
        if number is None or self.raw[start : node.start_byte].strip(b" \t"):
            return False
        return number == 0 or self.tokens[number - 1].end <= start

    def ends_its_line(self, node: Node) -> bool:
        """Whether nothing but blanks stands behind a node on its line."""
        return not self.raw[
            node.end_byte : self.line_start(self.line_of(max(node.start_byte, node.end_byte - 1)) + 1)
        ].strip()


@lru_cache(maxsize=8)
def program_or_reason(source: str, language: str) -> Program | str:
    """Return the program, or why it cannot be edited; the last ones are kept, since an edit is proved right after it is made."""
    try:
        return Program(source, language)
    except Unreadable as error:
        return str(error)


def is_directive(comment: str, language: str) -> bool:
    """Whether a comment speaks to a tool, so that it is no mere comment."""
    return bool((_GO_DIRECTIVE if language == "go" else _JS_DIRECTIVE).search(comment))


def text_of(node: Node) -> str:
    """Return the text of a node."""
    raw: bytes = node.text
    return raw.decode()


def nodes(root: Node, *kinds: str) -> Iterator[Node]:
    """Yield the nodes of these kinds, outer ones first, in the order of the text; all nodes where none is named."""
    stack = [root]
    while stack:
        node = stack.pop()
        if not kinds or node.type in kinds:
            yield node
        stack += reversed(node.children)


def statements(node: Node) -> list[Node]:
    """Return the children of a node, those of Go's lists of statements among them, without comments and separators."""
    found: list[Node] = []
    for child in node.children:
        if child.type == "statement_list":
            found += statements(child)
        elif child.type not in ("comment", "\n") and not (
            child.type == ";" and node.type in ("block", "statement_list")
        ):
            found.append(child)
    return found


def holder_of(node: Node) -> Node:
    """Return the node that holds a statement, past Go's lists of statements."""
    parent = node.parent
    return parent.parent if parent is not None and parent.type == "statement_list" else parent


def ancestors(node: Node) -> Iterator[Node]:
    """Yield the nodes around a node, the nearest first."""
    while (node := node.parent) is not None:
        yield node


def apply_edits(raw: bytes, edits: list[tuple[int, int, str]]) -> str:
    """Return the text with pieces replaced; edits do not overlap, those at one place come in the order given."""
    done: list[bytes] = []
    reached = 0
    for start, end, text in sorted(edits, key=lambda edit: edit[:2]):
        done += [raw[reached:start], text.encode()]
        reached = end
    return b"".join([*done, raw[reached:]]).decode()


def need_grammar(language: str) -> None:
    """Raise MissingExtraError where the grammar of a language is not installed."""
    grammar_version(language_named(language))


@cache
def _parser(language: str) -> Any:
    grammar = language_named(language).grammar
    assert grammar is not None
    tree_sitter: Any = import_module("tree_sitter")
    made = getattr(import_module(grammar.module), grammar.function)
    return tree_sitter.Parser(tree_sitter.Language(made()))
