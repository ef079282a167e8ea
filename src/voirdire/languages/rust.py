"""Rust, by tree-sitter's grammar; macros are parsed as trees of tokens, whatever they would expand to."""

import re

from voirdire.languages.language import Grammar, Language, words

LANGUAGE = Language(
    name="rust",
    tags=("rust", "rs"),
    skip=re.compile(
        r"//[^\n]*|/\*.*?\*/"
        r'|\bb?r(?P<hashes>#*)".*?"(?P=hashes)'
        r'|"[^"\\]*(?:\\.[^"\\]*)*"'
        r"|'(?:[^'\\\n]|\\[^\n][^'\n]*)'"
        r'|(?P<open>/\*|")',
        re.DOTALL,
    ),
    keywords=words(
        "as async await box break const continue crate dyn else enum extern fn for if impl in let loop match mod move "
        "mut pub ref return self Self static struct super trait type union unsafe use where while bool char f64 i32 "
        "i64 str u8 u32 u64 usize"
    ),
    line_comment="//",
    grammar=Grammar("tree_sitter_rust", "language", "tree-sitter-rust"),
)
