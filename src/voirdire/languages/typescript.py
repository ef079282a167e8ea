"""TypeScript without JSX, by tree-sitter's grammar; types are parsed, never checked."""

from voirdire.languages import javascript
from voirdire.languages.language import Grammar, Language, words

_TYPES = "abstract any boolean declare enum implements interface is keyof namespace never number private protected public "

LANGUAGE = Language(
    name="typescript",
    tags=("typescript", "ts", "mts", "cts"),
    skip=javascript.SKIP,
    keywords=javascript.KEYWORDS | words(f"{_TYPES} readonly string type unknown"),
    line_comment="//",
    grammar=Grammar("tree_sitter_typescript", "language_typescript", "tree-sitter-typescript"),
)
