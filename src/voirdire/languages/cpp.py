"""C++, by tree-sitter's grammar; the text is parsed as it stands, the preprocessor does not run."""

import re

from voirdire.languages.language import Grammar, Language, words

LANGUAGE = Language(
    name="cpp",
    tags=("cpp", "c++", "cxx", "cc", "hpp", "c"),
    skip=re.compile(
        r"//[^\n]*|/\*.*?\*/"
        r'|\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"'
        r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
        r"|(?<=\d)'(?=\d)|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
        r"""|(?P<open>/\*|'|")""",
        re.DOTALL,
    ),
    keywords=words(
        "alignas auto bool break case catch char class co_await concept const constexpr continue decltype default "
        "delete do double else enum explicit export extern false float for friend goto if inline int long mutable "
        "namespace new noexcept operator private protected public register requires return short signed sizeof static "
        "struct switch template this throw true try typedef typename union unsigned using virtual void volatile while "
        "std string vector size_t"
    ),
    line_comment="//",
    grammar=Grammar("tree_sitter_cpp", "language", "tree-sitter-cpp"),
)
