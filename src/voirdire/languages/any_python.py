"""Python of other versions than the one that runs, by tree-sitter's grammar.

The grammar takes Python 2 and 3 alike, newer syntax included as far as it knows it. It says nothing about indentation
that is inconsistent, and accepts some texts that no interpreter would.
"""

from dataclasses import replace

from voirdire.languages import python
from voirdire.languages.language import Grammar

LANGUAGE = replace(
    python.LANGUAGE,
    name="any_python",
    tags=("python2", "py2"),
    grammar=Grammar("tree_sitter_python", "language", "tree-sitter-python"),
)
