"""JavaScript with JSX, by tree-sitter's grammar."""

import re

from voirdire.languages.language import Grammar, Language, words

SKIP = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"|`[^`\\]*(?:\\.[^`\\]*)*`"
    r"|(?<=[=(,:\[!&|?{};\n])[ \t]*/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*"
    r"""|(?P<open>/\*|`|'|")""",
    re.DOTALL,
)

KEYWORDS = words(
    "async await break case catch class const continue debugger default delete do else export extends finally for "
    "from function get if import in instanceof let new of return set static super switch throw try typeof var void "
    "while with yield as"
)

LANGUAGE = Language(
    name="javascript",
    tags=("javascript", "js", "jsx", "node", "mjs", "cjs"),
    skip=SKIP,
    keywords=KEYWORDS,
    line_comment="//",
    grammar=Grammar("tree_sitter_javascript", "language", "tree-sitter-javascript"),
)
