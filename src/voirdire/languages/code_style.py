"""What the style of a program or a patch can be counted by: comments, logging, error handling, size, structure.

Programs that parse are counted by their syntax tree; of a patch only the added lines are looked at, by their words. The
text is never run. Trees are walked without recursion; give only programs that the gate has let pass to `program_style`.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib import import_module
from typing import Any

from voirdire.errors import DataError, VoirdireError
from voirdire.languages.language import Language, grammar_version, language_named
from voirdire.languages.python import tree_of

Counts = Mapping[str, float]


class Feature(StrEnum):
    """What is counted, as it is called on a page."""

    LINES = "lines"
    COMMENT_LINES = "comment lines"
    DOCSTRINGS = "docstrings"
    LOGGING = "logging calls"
    ERROR_HANDLING = "error handling"
    FILES = "files touched"
    TESTS = "test files touched"
    FUNCTIONS = "functions"
    BRANCHES = "branches"
    LOOPS = "loops"
    COMPREHENSIONS = "comprehensions"
    DEPTH = "deepest nesting"


SUFFIXES = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".ts": "typescript",
    ".tsx": "typescript",
    ".go": "go",
    ".java": "java",
    ".rs": "rust",
    ".c": "cpp",
    ".h": "cpp",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".hpp": "cpp",
}
"""Languages by the ending of a file's name; another one is read like C where it comes to comments."""

LONGEST_LINE = 2_000
"""Characters of a line that are looked at: generated and minified lines say nothing about style."""

_LOGGING = re.compile(
    r"\b(?:log(?:ger|ging)?|LOG(?:GER)?|console|slog|zap|glog|winston)\s*(?:\(\))?\s*[.:]+\s*\w+\s*[(!]|\bprint(?:ln|f)?!?\s*\("
    r"|\bfmt\.(?:Fp|P)rint|\bSystem\.(?:out|err)\.print",
)
_ERROR = re.compile(
    r"\b(?:try|except|catch|finally|rescue)\b|\bif\s+err\s*!=\s*nil\b|\bunwrap_or(?:_else)?\b"
)
_FUNCTION = re.compile(r"\b(?:def|func|fn|function)\b\s*\w*|=>\s*\{|\)\s*(?:throws\s+[\w., ]+)?\{\s*$")
_BRANCH = re.compile(r"\b(?:if|elif|else\s+if|switch|case|match)\b")
_LOOP = re.compile(r"\b(?:for|while|loop)\b")
_COMPREHENSION = re.compile(r"[\[({][^\[\](){}]*\bfor\b[^\[\](){}]*\bin\b")
_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)\.[^/]*$|Tests?\.java$"
)
_SLASH_COMMENT = re.compile(r"^\s*(?://|/\*|\*)")
_HASH_COMMENT = re.compile(r"^\s*#")
_FILE_HEADER = re.compile(r"\+\+\+ (?:[ab]/)?([^\t\n]*)")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")

_NODES: Mapping[Feature, re.Pattern[str]] = {
    Feature.FUNCTIONS: re.compile(
        r"^(?:function|method|arrow_function|func|closure|lambda|constructor)"
        r"(?:_(?:declaration|definition|expression|item|literal))?$"
    ),
    Feature.BRANCHES: re.compile(
        r"^(?:if|switch|match|case|conditional|ternary)_?(?:statement|expression)?$"
    ),
    Feature.LOOPS: re.compile(
        r"^(?:for|while|do|loop|enhanced_for|for_in|for_range)_?(?:loop|statement|expression)?$"
    ),
    Feature.ERROR_HANDLING: re.compile(r"^(?:try|catch|finally)_?(?:statement|clause|expression)?$"),
}
_NESTS = re.compile(r"(?:block|body|compound_statement)$")

_PYTHON: Mapping[Feature, tuple[type[ast.AST], ...]] = {
    Feature.FUNCTIONS: (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda),
    Feature.BRANCHES: (ast.If, ast.IfExp, ast.Match),
    Feature.LOOPS: (ast.For, ast.AsyncFor, ast.While),
    Feature.ERROR_HANDLING: (ast.Try, ast.TryStar),
    Feature.COMPREHENSIONS: (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_NESTING = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor),
    *(ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match),
)


def is_patch(text: str) -> bool:
    """Whether a text is a unified diff rather than a program."""
    return bool(re.search(r"^(?:diff --git |--- \S.*\n\+\+\+ )", text, re.MULTILINE))


def program_style(code: str, language: str = "python") -> Counts:
    """Return the counts of a program that parses.

    Raises UsageError for an unknown language, DataError where the program does not parse; a grammar that is not installed
    gives the counts by words.
    """
    known = language_named(language)
    counts: dict[str, float] = {
        Feature.LINES: sum(bool(line.strip()) for line in code.split("\n")),
        Feature.COMMENT_LINES: _comment_lines(code, known),
        Feature.LOGGING: len(_LOGGING.findall(code)),
    }
    if known.grammar is None:
        return counts | _python_tree(code)
    try:
        grammar_version(known)
    except VoirdireError:
        return counts | _by_words(code.split("\n"))
    return counts | _foreign_tree(code, known)


def patch_style(patch: str) -> Counts:
    """Return the counts of a patch's added lines. Anything that is no hunk is passed over; no text raises."""
    lines: list[tuple[str, str]] = list(added_lines(patch))
    files = list(dict.fromkeys(path for path, _ in lines))
    texts = [text for _, text in lines]
    return {
        Feature.LINES: sum(bool(text.strip()) for text in texts),
        Feature.COMMENT_LINES: sum(_is_comment(text, path) for path, text in lines),
        Feature.DOCSTRINGS: sum(text.count('"""') for path, text in lines if path.endswith(".py")) // 2,
        Feature.LOGGING: sum(len(_LOGGING.findall(text)) for text in texts),
        Feature.FILES: len(set(_files(patch)) | set(files)),
        Feature.TESTS: sum(bool(_TEST_FILE.search(path)) for path in files),
        **_by_words(texts),
    }


def added_lines(patch: str) -> Iterator[tuple[str, str]]:
    """Yield the file and the text of every added line within hunks, cut where it is very long."""
    path, inside = "", False
    for line in patch.split("\n"):
        header = _FILE_HEADER.match(line) if not inside or line.startswith("+++ b/") else None
        if header:
            path, inside = header[1].strip(), False
        elif _HUNK.match(line):
            inside = True
        elif line.startswith("diff --git "):
            inside = False
        elif inside and line.startswith("+"):
            yield path, line[1 : 1 + LONGEST_LINE]


def _files(patch: str) -> Iterator[str]:
    for line in patch.split("\n"):
        found = re.match(r"diff --git a/(.*?) b/(.*)$", line)
        if found:
            yield found[2].strip()


def _is_comment(text: str, path: str) -> bool:
    hashed = path.endswith((".py", ".pyi", ".sh", ".rb", ".yml", ".yaml", ".toml"))
    return bool((_HASH_COMMENT if hashed else _SLASH_COMMENT).match(text))


def _by_words(lines: list[str]) -> dict[str, float]:
    cut = [line[:LONGEST_LINE] for line in lines]
    count = {
        Feature.ERROR_HANDLING: _ERROR,
        Feature.FUNCTIONS: _FUNCTION,
        Feature.BRANCHES: _BRANCH,
        Feature.LOOPS: _LOOP,
        Feature.COMPREHENSIONS: _COMPREHENSION,
    }
    found: dict[str, float] = {
        feature: sum(len(pattern.findall(line)) for line in cut) for feature, pattern in count.items()
    }
    indents = [len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip()) for line in cut if line.strip()]
    return found | {Feature.DEPTH: max(indents, default=0) // 4}


def _comment_lines(code: str, language: Language) -> int:
    """Return how many lines hold a comment that is not within a string."""
    opens = (language.line_comment, "/*")
    return sum(
        found.group().count("\n") + 1
        for found in language.skip.finditer(code)
        if found.group().startswith(opens) and (language.grammar is not None or found.group()[0] == "#")
    )


def _python_tree(code: str) -> dict[str, float]:
    counts: Counter[str] = Counter(dict.fromkeys((*_PYTHON, Feature.DOCSTRINGS), 0))
    deepest = 0
    stack: list[tuple[ast.AST, int]] = [(tree_of(code), 0)]
    while stack:
        node, depth = stack.pop()
        for feature, kinds in _PYTHON.items():
            counts[feature] += isinstance(node, kinds)
        if isinstance(node, _DOCUMENTED):
            counts[Feature.DOCSTRINGS] += ast.get_docstring(node, clean=False) is not None
        depth += isinstance(node, _NESTING)
        deepest = max(deepest, depth)
        stack += [(child, depth) for child in ast.iter_child_nodes(node)]
    return {**counts, Feature.DEPTH: deepest}


def _foreign_tree(code: str, language: Language) -> dict[str, float]:
    root = _root(code, language)
    counts: Counter[str] = Counter(dict.fromkeys(_NODES, 0))
    deepest = 0
    stack: list[tuple[Any, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if node.is_named:
            for feature, pattern in _NODES.items():
                counts[feature] += bool(pattern.match(node.type))
            depth += bool(_NESTS.search(node.type))
        deepest = max(deepest, depth)
        stack += [(child, depth) for child in node.children]
    return {**counts, Feature.DEPTH: deepest}


def _root(code: str, language: Language) -> Any:
    assert language.grammar is not None
    tree_sitter: Any = import_module("tree_sitter")
    grammar = import_module(language.grammar.module)
    parser = tree_sitter.Parser(tree_sitter.Language(getattr(grammar, language.grammar.function)()))
    root = parser.parse(code.encode("utf-8", "replace")).root_node
    if root.has_error:
        raise DataError(f"the {language.name} code does not parse", hint="put the gate before it")
    return root
