"""What is known of one language: its names in a fence, its grammar, and what its comments and strings look like."""

import os
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata, util

from voirdire.errors import MissingExtraError, UsageError

INSTALL = "pip install 'voirdire[grammars]'"


@dataclass(frozen=True)
class Grammar:
    """A tree-sitter grammar: the module that carries it, the function that gives it, the package it comes in."""

    module: str
    function: str
    package: str


@dataclass(frozen=True)
class Language:
    """One language. `tags`: the words of an info string that name it, in lower case.

    `skip`: matches a comment, a string or another literal as a whole, in which brackets mean nothing; the group
    `open` in it matches the quote of a string that never ends. `keywords`: words that may stand beside another word
    in code. `line_comment`: what begins a comment to the end of the line. `grammar` None: the interpreter's own.
    """

    name: str
    tags: tuple[str, ...]
    skip: re.Pattern[str]
    keywords: frozenset[str]
    line_comment: str
    grammar: Grammar | None = None


def words(text: str) -> frozenset[str]:
    """Return the words of a text: how the language files list their keywords."""
    return frozenset(text.split())


@cache
def language_named(name: str) -> Language:
    """Return a language by its name or one of its tags; UsageError with the names there are where it is not known."""
    wanted = name.strip().lower()
    if wanted in names():
        return _loaded(wanted)
    for known in names():
        if wanted in _loaded(known).tags:
            return _loaded(known)
    raise UsageError(f"there is no language '{name}'", hint=f"choose one of: {', '.join(names())}")


@cache
def names() -> tuple[str, ...]:
    """Return the languages there are, sorted: the files of this room that describe one."""
    files = sorted(entry.removesuffix(".py") for entry in os.listdir(os.path.dirname(__file__)))
    modules = [name for name in files if name.isidentifier() and not name.startswith("_")]
    return tuple(name for name in modules if hasattr(import_module(f"voirdire.languages.{name}"), "LANGUAGE"))


@cache
def grammar_version(language: Language) -> str:
    """Return which grammar reads a language, with its version; MissingExtraError where it is not installed."""
    if language.grammar is None:
        import platform

        return f"{platform.python_implementation()} {platform.python_version()}"
    if util.find_spec("tree_sitter") is None or util.find_spec(language.grammar.module) is None:
        raise MissingExtraError(f"the grammar of {language.name} is not installed", hint=INSTALL)
    package = language.grammar.package
    return f"{package} {metadata.version(package)} on tree-sitter {metadata.version('tree-sitter')}"


def _loaded(name: str) -> Language:
    language: Language = import_module(f"voirdire.languages.{name}").LANGUAGE
    return language
