"""Java, by tree-sitter's grammar: whole files, and members or statements alone, which a compiler would refuse."""

import re

from voirdire.languages.language import Grammar, Language, words

LANGUAGE = Language(
    name="java",
    tags=("java",),
    skip=re.compile(
        r"//[^\n]*|/\*.*?\*/"
        r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
        r'|(?!""")"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
        r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
        r"""|(?P<open>/\*|\"\"\"|'|")""",
        re.DOTALL,
    ),
    keywords=words(
        "abstract assert boolean break byte case catch char class const continue default do double else enum extends "
        "final finally float for if implements import instanceof int interface long native new package private "
        "protected public record return sealed short static super switch synchronized this throw throws transient "
        "try var void volatile while String Integer"
    ),
    line_comment="//",
    grammar=Grammar("tree_sitter_java", "language", "tree-sitter-java"),
)
