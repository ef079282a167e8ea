"""Python, by the grammar of the interpreter that runs.

`ast` reads exactly what this interpreter would accept as a file, no older or newer Python. Parsing is not compiling: a
`return` outside a function parses and can still not be run.
"""

import keyword
import re

from voirdire.languages._language import Language

_STRING = (
    r"#[^\n]*"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|(?!""")"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|(?!''')'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"""|(?P<open>'''|\"\"\"|'|")"""
)

LANGUAGE = Language(
    name="python",
    tags=("python", "python3", "py", "py3"),
    skip=re.compile(_STRING, re.DOTALL),
    keywords=frozenset(keyword.kwlist) | {"match", "case", "type"},
    line_comment="#",
)
