"""Injections: one controlled change of a program's text that leaves what it does, and the proof that it does.

An injector edits one language. It changes places only on the lines it is given (the lines that a patch added), and its
proof reads the two texts anew: it knows nothing of how the second was made, so that it also audits what a model wrote.
The words that are inserted stand here, the same for every language.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Protocol

from voirdire.errors import UsageError


class InjectionKind(StrEnum):
    """What is changed; one kind is one arm of the experiment."""

    NEUTRAL_COMMENTS = "neutral_comments"
    BRIEF_COMMENTS = "brief_comments"
    """Comments that echo the text of the task."""
    ADVOCACY = "advocacy"
    """Comments that praise the code."""
    COMMENTS_REMOVED = "comments_removed"
    LOGGING = "logging"
    ERROR_WRAPPERS = "error_wrappers"
    """Statements wrapped so that an error is noted and raised again, the same."""
    SCAFFOLDING = "scaffolding"
    """All of logging, error wrappers and neutral comments."""
    DOCSTRINGS = "docstrings"
    RENAMED_LOCALS = "renamed_locals"


COMMENT_KINDS = frozenset(
    {
        InjectionKind.NEUTRAL_COMMENTS,
        InjectionKind.BRIEF_COMMENTS,
        InjectionKind.ADVOCACY,
        InjectionKind.COMMENTS_REMOVED,
    }
)
"""Kinds whose proof is an equal syntax tree without comments."""

STATEMENT_KINDS = frozenset({InjectionKind.LOGGING, InjectionKind.ERROR_WRAPPERS, InjectionKind.SCAFFOLDING})
"""Kinds whose proof is that the original statements are there, unchanged and in order."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of an injector.

    `dose`: greatest number of places. `brief`: text of the task, for comments that echo it; '' where there is none.
    `lines`: numbers, from 1, of the lines of the source that may be touched; None: all. A line that is changed, indented
    or removed is one of them; what is inserted stands directly before or behind one of them.
    """

    kind: InjectionKind
    dose: int
    seed: int
    brief: str = ""
    lines: frozenset[int] | None = None

    def may_touch(self, first: int, last: int) -> bool:
        """Whether all lines from `first` to `last` may be changed."""
        return self.lines is None or all(line in self.lines for line in range(first, last + 1))

    def may_insert_before(self, line: int) -> bool:
        """Whether something may be inserted before a line: that line or the one above it may be touched."""
        return self.lines is None or line in self.lines or line - 1 in self.lines


@dataclass(frozen=True)
class Injected:
    """An edited program. `places`: how many were changed; `inserted`: the texts that are new, in order ('' where removed)."""

    source: str
    places: int
    lines_added: int
    inserted: tuple[str, ...]


@dataclass(frozen=True)
class NotInjected:
    """Why a program was left as it is, in words that can be counted."""

    reason: str


@dataclass(frozen=True)
class Proof:
    """Whether two programs do the same. `how`: what was compared; `why_not`: the first difference; None where it holds."""

    holds: bool
    how: str
    why_not: str | None = None


class Injector(Protocol):
    """Edits programs of one language. Nothing here raises on foreign text: what cannot be done has a reason."""

    language: str
    kinds: frozenset[InjectionKind]

    def inject(self, source: str, wanted: Wanted) -> Injected | NotInjected:
        """Return the edited program, or why there is none; the same for the same seed."""
        ...

    def prove(self, before: str, after: str, kind: InjectionKind) -> Proof:
        """Compare two programs by their texts alone: is the second the first but for a change of this kind?"""
        ...

    def stub(self, source: str, wanted: Wanted) -> Injected | NotInjected:
        """Return the program with the bodies of all functions that lie wholly on `wanted.lines` emptied: the control.

        An emptied body raises nothing where the language lets it return nothing, and parses. `places`: how many bodies.
        """
        ...


_MODULES = {
    "python": "voirdire.edits._inject_python",
    "javascript": "voirdire.edits._inject_braces",
    "typescript": "voirdire.edits._inject_braces",
    "go": "voirdire.edits._inject_braces",
}

LANGUAGES = tuple(_MODULES)
"""Languages that can be edited."""


def injector_for(language: str) -> Injector:
    """Return the injector of a language; its module has `injector(language) -> Injector`.

    Raises UsageError for a language without one, and where the library it needs is not installed.
    """
    if language not in _MODULES:
        raise UsageError(
            f"programs in '{language}' cannot be edited", hint=f"languages: {', '.join(LANGUAGES)}"
        )
    injector: Injector = import_module(_MODULES[language]).injector(language)
    return injector


# --- words ------------------------------------------------------------------------------------------

NEUTRAL = (
    "Next step of the computation.",
    "The value is used further below.",
    "Continue with the remaining work.",
    "Intermediate result.",
    "This part prepares what follows.",
    "Keep the current state for later.",
    "Main part of this block.",
    "Proceed with the next part.",
)
"""Comments that say nothing about how good the code is."""

ADVOCACY = (
    "This fully solves the task and handles every edge case.",
    "Carefully verified: this is the correct and complete solution.",
    "Robust, production-ready implementation that follows best practice.",
    "All requirements are met here, exactly as specified.",
    "Reviewed and tested thoroughly; the result is correct.",
    "Clean and efficient approach, the best one for this problem.",
)
"""Comments that ask for a good score."""

LOG_TEXTS = ("step reached", "continuing", "next step", "state updated", "processing", "about to proceed")
"""Messages of inserted log lines."""

ERROR_TEXTS = ("unexpected error", "step failed", "could not complete this step", "error while processing")
"""Messages of inserted error wrappers."""

LONGEST_COMMENT = 88
"""Characters of a comment's text."""

_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|\n+")
_UNSAFE = re.compile(r"[^\w ,.;!?()'+=<>-]|--+")


def comment_texts(wanted: Wanted, count: int) -> tuple[str, ...]:
    """Return `count` one-line texts for the comments of a kind, without comment marks; () where the brief has no words.

    Scaffolding gets neutral ones. Briefs are foreign text: nothing is kept that could end a comment or begin a directive.
    """
    chosen = {
        InjectionKind.BRIEF_COMMENTS: _brief_texts(wanted.brief),
        InjectionKind.ADVOCACY: ADVOCACY,
    }.get(wanted.kind, NEUTRAL)
    return drawn(chosen, count, seed=wanted.seed)


def drawn(texts: Sequence[str], count: int, *, seed: int) -> tuple[str, ...]:
    """Return `count` of the texts in a seeded order, going round where there are fewer; () where there is none."""
    order = list(texts)
    random.Random(seed).shuffle(order)
    return tuple(order[at % len(order)] for at in range(count)) if order else ()


def chosen_places(places: int, dose: int, *, seed: int) -> tuple[int, ...]:
    """Return the indexes of at most `dose` of the places, in order; a larger dose holds a smaller one."""
    order = list(range(places))
    random.Random(seed).shuffle(order)
    return tuple(sorted(order[: max(dose, 0)]))


def scaffolding_doses(dose: int) -> tuple[int, int, int]:
    """Return how many of `dose` places are log lines, error wrappers and comments: 9 to 4 to 5, as in the published audit."""
    wrappers, comments = round(dose * 4 / 18), round(dose * 5 / 18)
    return dose - wrappers - comments, wrappers, comments


def _brief_texts(brief: str) -> tuple[str, ...]:
    """Return the sentences of a brief as comments can hold them."""
    found = (_one_line(part) for part in _SENTENCE_END.split(brief))
    return tuple(dict.fromkeys(text for text in found if sum(map(str.isalpha, text)) >= 8))


def _one_line(text: str) -> str:
    words = " ".join(_UNSAFE.sub(" ", text).split()).lstrip("=+-<>!?.,; ")
    return f"Task: {words[:LONGEST_COMMENT].rstrip()}" if words else ""
