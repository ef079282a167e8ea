"""Go, by tree-sitter's grammar: whole files, and declarations or statements alone, which a compiler would refuse."""

import re

from voirdire.languages.language import Grammar, Language, words

LANGUAGE = Language(
    name="go",
    tags=("go", "golang"),
    skip=re.compile(
        r"//[^\n]*|/\*.*?\*/"
        r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
        r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
        r"|`[^`]*`"
        r"""|(?P<open>/\*|`|'|")""",
        re.DOTALL,
    ),
    keywords=words(
        "break case chan const continue default defer else fallthrough for func go goto if import interface map "
        "package range return select struct switch type var bool byte error float64 int int64 rune string uint"
    ),
    line_comment="//",
    grammar=Grammar("tree_sitter_go", "language", "tree-sitter-go"),
)
