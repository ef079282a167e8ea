"""Parsing candidate code: does it parse, and if not, what is wrong and where.

The text is never run. It is parsed in processes of its own (`Parsers`), so that nesting made to crash a parser costs
one process and fails that text alone.
"""

import atexit
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from types import TracebackType

from voirdire.languages._pool import (
    ENDED_BY_CRASH,
    ENDED_BY_MEMORY,
    ENDED_BY_TIME,
    WORKER,
    Failure,
    Pool,
)
from voirdire.languages._prose import is_prose
from voirdire.languages._worker import Grammar
from voirdire.languages.brackets import Fault, Repair, first_fault, nearest, scan
from voirdire.languages.language import Language, grammar_version, language_named

EVIDENCE_CHARACTERS = 160
"""Of the line at fault, at most so many characters are kept."""


class ParseKind(StrEnum):
    """What a parser said about a text: that it parses, or what is wrong with it, or what became of the parser."""

    PARSES = "parses"
    EMPTY = "empty"
    EXTRA_CLOSING = "extra closing bracket"
    UNMATCHED_CLOSING = "unmatched closing bracket"
    MISMATCHED = "mismatched bracket"
    NEVER_CLOSED = "bracket never closed"
    UNTERMINATED_STRING = "unterminated string"
    INDENTATION = "indentation"
    CUT_OFF = "cut off"
    PROSE = "prose instead of code"
    OTHER = "other"
    NUL_BYTE = "NUL byte"
    HALF_CHARACTER = "half a character"
    RECURSION = "parser: nested too deeply"
    MEMORY = "parser: out of memory"
    TIME = "parser: out of time"
    CRASHED = "parser_crashed"


BRACKET_KINDS = frozenset(
    {ParseKind.EXTRA_CLOSING, ParseKind.UNMATCHED_CLOSING, ParseKind.MISMATCHED, ParseKind.NEVER_CLOSED}
)
"""Kinds for which it makes sense to ask how many bracket edits away the nearest parsing text is."""

PARSER_KINDS = frozenset(
    {
        ParseKind.NUL_BYTE,
        ParseKind.HALF_CHARACTER,
        ParseKind.RECURSION,
        ParseKind.MEMORY,
        ParseKind.TIME,
        ParseKind.CRASHED,
    }
)
"""Kinds in which the parser gave no opinion on the text, which therefore does not parse."""


@dataclass(frozen=True)
class Parse:
    """What a parser said about one text.

    `evidence`: the line at fault as it stands (untrusted text, at most 160 characters). `message`: the parser's own
    words. `line`, `column`: where, from 1; None: it did not say. `truncated`: the text reads like the beginning of one
    that parses. `grammar`: which grammar in which version.
    """

    ok: bool
    kind: ParseKind
    evidence: str = ""
    message: str = ""
    line: int | None = None
    column: int | None = None
    truncated: bool = False
    grammar: str = ""


class Parsers:
    """Parses texts in up to `workers` processes (None: one for each core), kept until `close`.

    `worker`: the module whose `main` each process runs; None: ours.
    """

    def __init__(self, workers: int | None = None, *, worker: str | None = None) -> None:
        self._pool = Pool(workers, worker=worker or WORKER)

    def __enter__(self) -> "Parsers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def parses(self, codes: Sequence[str], language: str = "python") -> list[bool]:
        """Return for each text whether it parses: all that a gate needs, for little more than the parser's own time.

        Raises UsageError for an unknown language, MissingExtraError where its grammar is not installed.
        """
        asked = language_named(language)
        grammar_version(asked)
        failures = self._pool.failures(_grammar(asked), codes, careful=False)
        return [index not in failures and not _is_empty(code) for index, code in enumerate(codes)]

    def parse(self, codes: Sequence[str], language: str = "python") -> list[Parse]:
        """Return for each text what its parser says, with the kind of fault and one line of evidence.

        Errors as for `parses`.
        """
        asked = language_named(language)
        grammar = grammar_version(asked)
        failures = self._pool.failures(_grammar(asked), codes, careful=True)
        good = Parse(True, ParseKind.PARSES, grammar=grammar)
        empty = Parse(False, ParseKind.EMPTY, message="there is nothing to parse", grammar=grammar)
        said = [
            empty
            if _is_empty(code)
            else (replace(_diagnosed(code, failures[at], asked), grammar=grammar) if at in failures else good)
            for at, code in enumerate(codes)
        ]
        return self._extra_told_apart(codes, said, asked)

    def nearest(self, code: str, language: str = "python") -> Repair:
        """Return how many edits of one bracket token (insert, delete, replace) away the nearest parsing text is.

        At most three edits and 2,000 parsed texts are looked at; a text that parses is 0 edits away.
        """
        asked = language_named(language)
        said = self.parse([code], language)[0]
        if said.ok:
            return Repair(0, code, exact=True, tried=1)
        near = _offset(code, said.line, said.column)
        return nearest(code, asked.skip, parses=lambda texts: self.parses(texts, language), near=near)

    def _extra_told_apart(self, codes: Sequence[str], said: list[Parse], language: Language) -> list[Parse]:
        """Tell an extra closing bracket, without which the text parses, from one that merely does not match."""
        wrong = (ParseKind.UNMATCHED_CLOSING, ParseKind.MISMATCHED)
        unmatched = [index for index, one in enumerate(said) if one.kind in wrong]
        without = [_without(codes[index], said[index]) for index in unmatched]
        for index, mended in zip(unmatched, self.parses(without, language.name), strict=True):
            if mended:
                said[index] = replace(said[index], kind=ParseKind.EXTRA_CLOSING)
        return said


def parse(code: str, language: str = "python") -> Parse:
    """Return what the parser of `language` says about one text, in a process kept for the purpose."""
    return shared_parsers().parse([code], language)[0]


@cache
def shared_parsers() -> Parsers:
    """Return parsers that live as long as this process, for whoever parses now and then."""
    parsers = Parsers()
    atexit.register(parsers.close)
    return parsers


def _is_empty(code: str) -> bool:
    """Whether there is nothing but white space, and at most a byte-order mark before it."""
    return not code.removeprefix("\ufeff").strip()


def _grammar(language: Language) -> Grammar:
    return (language.grammar.module, language.grammar.function) if language.grammar else None


# --- what is wrong ----------------------------------------------------------------------------------


def _diagnosed(code: str, failure: Failure, language: Language) -> Parse:
    """Return what is wrong with a text that does not parse: the first fault, as its parser met it."""
    line = failure.line if failure.line and failure.line > 0 else None
    evidence = _line_of(code, line)
    said = Parse(
        ok=False,
        kind=_kind(code, failure, language, evidence),
        evidence=evidence.strip()[:EVIDENCE_CHARACTERS],
        message=failure.message,
        line=line,
        column=failure.column if line and failure.column and failure.column > 0 else None,
    )
    if language.grammar is not None:
        said = _at_bracket(code, said, language)
    return replace(said, truncated=said.kind not in PARSER_KINDS and _breaks_off(code, failure, said))


def _kind(code: str, failure: Failure, language: Language, evidence: str) -> ParseKind:
    refused = _refused(failure)
    if refused is not None:
        return refused
    if is_prose(evidence, keywords=language.keywords, line_comment=language.line_comment):
        return ParseKind.PROSE
    if language.grammar is None:
        return _kind_in_own_words(code, failure, language)
    return _kind_by_brackets(code, language) or (ParseKind.CUT_OFF if failure.incomplete else ParseKind.OTHER)


def _refused(failure: Failure) -> ParseKind | None:
    """Return why the parser gave no opinion; None where it gave one."""
    by_error = {
        ENDED_BY_TIME: ParseKind.TIME,
        ENDED_BY_MEMORY: ParseKind.MEMORY,
        ENDED_BY_CRASH: ParseKind.CRASHED,
        "RecursionError": ParseKind.RECURSION,
        "MemoryError": ParseKind.RECURSION if "too complex" in failure.message else ParseKind.MEMORY,
        "UnicodeEncodeError": ParseKind.HALF_CHARACTER,
    }
    if failure.error in by_error:
        return by_error[failure.error]
    if "null bytes" in failure.message:
        return ParseKind.NUL_BYTE
    if failure.message.startswith("too many ") and (
        "nested" in failure.message or "levels" in failure.message
    ):
        return ParseKind.RECURSION
    return None if failure.error in ("SyntaxError", "IndentationError", "TabError") else ParseKind.CRASHED


def _kind_in_own_words(code: str, failure: Failure, language: Language) -> ParseKind:
    """Return the kind from what the interpreter says; where it says only 'invalid syntax', from the brackets."""
    message = failure.message
    if message.startswith("unmatched"):
        return ParseKind.UNMATCHED_CLOSING
    if message.startswith("closing parenthesis"):
        return ParseKind.MISMATCHED
    if message.endswith("was never closed"):
        return ParseKind.NEVER_CLOSED
    if message.startswith("unterminated"):
        return ParseKind.UNTERMINATED_STRING
    if failure.incomplete:
        return ParseKind.CUT_OFF
    if failure.error in ("IndentationError", "TabError"):
        return ParseKind.INDENTATION
    if message == "invalid syntax":
        return _kind_by_brackets(code, language, until=_offset(code, failure.line, failure.column)) or (
            ParseKind.CUT_OFF if _at_end(code, failure) else ParseKind.OTHER
        )
    return ParseKind.CUT_OFF if _at_end(code, failure) else ParseKind.OTHER


def _kind_by_brackets(code: str, language: Language, *, until: int | None = None) -> ParseKind | None:
    """Return what is wrong with brackets and strings, the first in the text; None where nothing is.

    `until`: where the parser gave up. What is wrong behind that place it never met; a bracket that stays open it did.
    """
    found = scan(code, language.skip)
    faulty = first_fault([bracket.char for bracket in found.brackets])
    at = found.brackets[faulty.place].offset if faulty else len(code)
    if (
        found.open_string is not None
        and found.open_string < at
        and (until is None or found.open_string <= until)
    ):
        return ParseKind.UNTERMINATED_STRING
    if faulty is None or (until is not None and at > until):
        return None
    return {
        Fault.UNMATCHED: ParseKind.UNMATCHED_CLOSING,
        Fault.MISMATCHED: ParseKind.MISMATCHED,
        Fault.NEVER_CLOSED: ParseKind.NEVER_CLOSED,
    }[faulty.fault]


def _at_bracket(code: str, said: Parse, language: Language) -> Parse:
    """Point at the bracket at fault, which a grammar that recovers from errors does not name."""
    if said.kind not in BRACKET_KINDS:
        return said
    found = scan(code, language.skip)
    faulty = first_fault([bracket.char for bracket in found.brackets])
    if faulty is None:
        return said
    offset = found.brackets[faulty.place].offset
    line = code.count("\n", 0, offset) + 1
    evidence = _line_of(code, line).strip()[:EVIDENCE_CHARACTERS]
    return replace(said, line=line, column=offset - code.rfind("\n", 0, offset), evidence=evidence)


def _breaks_off(code: str, failure: Failure, said: Parse) -> bool:
    """Whether the parser wanted more than there is: text, not other text."""
    if failure.incomplete and said.kind in (
        ParseKind.CUT_OFF,
        ParseKind.NEVER_CLOSED,
        ParseKind.UNTERMINATED_STRING,
    ):
        return True
    if said.kind is ParseKind.UNTERMINATED_STRING:
        return said.line is not None and not "".join(_lines(code)[said.line :]).strip()
    return said.kind is ParseKind.CUT_OFF


def _at_end(code: str, failure: Failure) -> bool:
    """Whether the parser gave up behind the last character that is not white space."""
    return failure.line is not None and _offset(code, failure.line, failure.column) >= len(code.rstrip())


def _without(code: str, said: Parse) -> str:
    """Return a text without the bracket at fault."""
    at = _offset(code, said.line, said.column)
    return code[:at] + code[at + 1 :]


def _lines(code: str) -> list[str]:
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _line_of(code: str, line: int | None) -> str:
    """Return a line, or the last one before it that holds something; '' where the place is not known."""
    lines = _lines(code)[:line] if line else []
    return next((one for one in reversed(lines) if one.strip()), "")


def _offset(code: str, line: int | None, column: int | None) -> int:
    """Return the offset of a place given by line and column from 1, whatever ends the lines; 0 where it is unknown."""
    at = 0
    for _ in range((line or 1) - 1):
        ends = [end for end in (code.find("\n", at), code.find("\r", at)) if end >= 0]
        if not ends:
            return len(code)
        end = min(ends)
        at = end + (2 if code.startswith("\r\n", end) else 1)
    return min(len(code), at + max((column or 1) - 1, 0))
