"""The process that parses: candidate text comes in, what the parser said goes out. It may die; its pool replaces it.

`main` is what it runs. Frames are eight bytes of length and that many bytes of `marshal`:
a request (grammar, careful, texts) gets the list of texts that did not parse, each as its index or, where asked to be
careful, as (index, class, message, line, column, incomplete). Nothing of a text is ever run.
"""

from __future__ import annotations

import gc
import marshal
import sys
import warnings

TYPE_CHECKING = False
"""As in `typing`, whose import alone would take as long as this process otherwise needs to start."""

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO

    Parse = Callable[[str, bool], "Said | None"]

Grammar = tuple[str, str] | None
"""A tree-sitter module and the function in it that gives the grammar; None: the interpreter's own grammar."""

Said = tuple[str, str, int | None, int | None, bool]
"""Class of the exception, its message, line and column from 1, and whether the text only breaks off too early."""

CPU_SECONDS = 10
"""CPU time that one request may take: a thousand times what a thousand ordinary files need."""

WALL_SECONDS = 120
"""Time that one request may take by the clock, where the parser waits for what never comes."""

MEMORY = 4 << 30
"""Bytes of address space: a parser that wants more gets a MemoryError, not the machine."""

# Parses as `ast.parse` does, and lists names where that makes a tree of objects: a fifth of the time less.
try:
    from _symtable import symtable as _read  # type: ignore[import-not-found]
except ImportError:
    _read = None

_UNSAID: Said = ("SyntaxError", "", None, None, False)
_ONLY_TREE = 0x400  # `ast.PyCF_ONLY_AST`
_UNFINISHED = _ONLY_TREE | 0x4000  # allow incomplete input, as `codeop` does
_COLLECT_AFTER = 200_000


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    while True:
        head = requests.read(8)
        if len(head) < 8:
            return
        grammar, careful, texts = marshal.loads(requests.read(int.from_bytes(head, "little")))
        _limit_time(CPU_SECONDS, WALL_SECONDS)
        body = marshal.dumps(failures(grammar, careful, texts))
        _limit_time(0, 0)
        answers.write(len(body).to_bytes(8, "little"))
        answers.write(body)
        answers.flush()


def failures(grammar: Grammar, careful: bool, texts: list[str]) -> list[int] | list[tuple[int, Said]]:
    """Return the indexes of what does not parse; `careful`: with what was said about it."""
    parse = parser_of(grammar)
    said = ((index, parse(text, careful)) for index, text in enumerate(texts))
    if not careful:
        return [index for index, failure in said if failure is not None]
    return [(index, failure) for index, failure in said if failure is not None]


def parser_of(grammar: Grammar) -> Parse:
    """Return the parser for a grammar, made once."""
    if grammar not in _PARSERS:
        _PARSERS[grammar] = _own if grammar is None else _tree_sitter(*grammar)
    return _PARSERS[grammar]


_PARSERS: dict[Grammar, Parse] = {}


def _own(text: str, careful: bool) -> Said | None:
    if _read is not None:
        try:
            _read(text, "<candidate>", "exec")
        except Exception:  # the parser's, or of a later step that is not its business: the tree decides
            return _own_tree(text, careful)
        return None
    return _own_tree(text, careful)


def _own_tree(text: str, careful: bool) -> Said | None:
    try:
        compile(text, "<candidate>", "exec", _ONLY_TREE, True)
    except SyntaxError as error:
        if not careful:
            return _UNSAID
        return (
            type(error).__name__,
            error.msg or "",
            error.lineno,
            error.offset,
            _is_incomplete(text, error.msg or ""),
        )
    except Exception as error:
        return type(error).__name__, str(error)[:200], None, None, False
    return None


def _is_incomplete(text: str, message: str) -> bool:
    """Whether the parser read to the end of the text and wanted more; some messages rule that out."""
    if message.startswith(("unmatched", "closing parenthesis")):
        return False
    try:
        compile(text, "<candidate>", "exec", _UNFINISHED, True)
    except SyntaxError as error:
        return error.msg == "incomplete input"
    except Exception:
        return False
    return False


def _tree_sitter(module: str, function: str) -> Parse:
    from tree_sitter import Language, Parser

    parser = Parser(Language(getattr(__import__(module), function)()))

    def parse(text: str, careful: bool) -> Said | None:
        try:
            raw = text.encode()
        except UnicodeEncodeError as error:
            return "UnicodeEncodeError", str(error)[:200], None, None, False
        root = parser.parse(raw).root_node
        if not root.has_error:
            return None
        return _first_error(root, raw) if careful else _UNSAID

    return parse


def _first_error(root: Any, raw: bytes) -> Said:
    """Return the first node of a tree that is an error, or that the parser had to invent."""
    node = root
    while not (node.is_error or node.is_missing):
        node = next(child for child in node.children if child.has_error or child.is_missing)
    what = f"missing {node.type}" if node.is_missing else f"not expected: {_shown(node, raw)}"
    row, column = node.start_point
    line = raw.split(b"\n")[row][:column].decode(errors="replace")
    return "SyntaxError", what, row + 1, len(line) + 1, not raw[node.end_byte :].strip()


def _shown(node: Any, raw: bytes) -> str:
    return raw[node.start_byte : min(node.end_byte, node.start_byte + 40)].decode(errors="replace")


# --- limits -----------------------------------------------------------------------------------------


def _limit_time(cpu_seconds: float, wall_seconds: float) -> None:
    """Let the kernel end this process if one request takes too long, wherever the parser then is; 0: no limit."""
    try:
        from signal import ITIMER_PROF, ITIMER_REAL, setitimer
    except ImportError:
        return
    setitimer(ITIMER_PROF, cpu_seconds)
    setitimer(ITIMER_REAL, wall_seconds)


def _limit_memory() -> None:
    try:
        from resource import RLIMIT_AS, RLIMIT_CORE, setrlimit
    except ImportError:
        return
    try:
        setrlimit(RLIMIT_CORE, (0, 0))
        setrlimit(RLIMIT_AS, (MEMORY, MEMORY))
    except (OSError, ValueError):
        return


def _ignore_interrupts() -> None:
    """Ctrl-C is the parent's to handle: it closes our input."""
    from signal import SIG_IGN, SIGINT, signal

    signal(SIGINT, SIG_IGN)


def main() -> None:
    """Serve standard input and output under limits. Syntax trees have no cycles: the collector hardly ever runs."""
    warnings.simplefilter("ignore")
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)
    _ignore_interrupts()
    _limit_memory()
    serve(sys.stdin.buffer, sys.stdout.buffer)
