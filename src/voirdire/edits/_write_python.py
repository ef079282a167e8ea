"""Writes a changed Python program: libcst's tree with statements inserted, wrapped, documented, and names replaced."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import libcst as cst

Statement = cst.BaseStatement


@dataclass(frozen=True)
class Changes:
    """What is done, by the node of the tree that it is done to; see `_inject_python`."""

    before: Mapping[cst.CSTNode, Sequence[str]] = field(default_factory=dict)
    comments: Mapping[cst.CSTNode, str] = field(default_factory=dict)
    wrapped: Mapping[cst.CSTNode, Sequence[str]] = field(default_factory=dict)
    documented: Mapping[cst.CSTNode, str] = field(default_factory=dict)
    uncommented: Set[cst.CSTNode] = frozenset()
    renamed: Mapping[cst.CSTNode, str] = field(default_factory=dict)
    imports: bool = False


def rewritten(module: cst.Module, changes: Changes) -> str:
    """Return the text of the changed program. What is not changed keeps every character."""
    changed = module.visit(_Rewrite(changes))
    assert isinstance(changed, cst.Module)
    return changed.code


class _Rewrite(cst.CSTTransformer):
    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self._changes = changes

    def leave_IndentedBlock(  # noqa: N802 - libcst's name
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.BaseSuite:
        pairs = zip(original_node.body, updated_node.body, strict=True)
        return updated_node.with_changes(body=[made for old, new in pairs for made in self._made(old, new)])

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:  # noqa: N802
        groups = [
            self._made(old, new) for old, new in zip(original_node.body, updated_node.body, strict=True)
        ]
        if self._changes.imports:
            at = next(k for k, node in enumerate(original_node.body) if not leads(node))
            groups[at] = [*_above(groups[at][0], [_statement("import logging")]), *groups[at][1:]]
        return updated_node.with_changes(body=[node for group in groups for node in group])

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:  # noqa: N802
        new = self._changes.renamed.get(original_node)
        return updated_node if new is None else updated_node.with_changes(value=new)

    def leave_EmptyLine(  # noqa: N802
        self, original_node: cst.EmptyLine, updated_node: cst.EmptyLine
    ) -> cst.EmptyLine | cst.RemovalSentinel:
        gone = original_node.comment is not None and original_node.comment in self._changes.uncommented
        return cst.RemoveFromParent() if gone else updated_node

    def leave_TrailingWhitespace(  # noqa: N802
        self, original_node: cst.TrailingWhitespace, updated_node: cst.TrailingWhitespace
    ) -> cst.TrailingWhitespace:
        if original_node.comment is None or original_node.comment not in self._changes.uncommented:
            return updated_node
        return updated_node.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)

    def _made(self, old: Statement, new: Statement) -> list[Statement]:
        """Return what stands in the place of one statement."""
        changes = self._changes
        if old in changes.wrapped:
            new = _wrapped(new, changes.wrapped[old])
        if old in changes.comments:
            new = _commented(new, changes.comments[old])
        above = [
            *([changes.documented[old]] if old in changes.documented else []),
            *changes.before.get(old, ()),
        ]
        return _above(new, [_statement(code) for code in above])


def leads(statement: cst.CSTNode) -> bool:
    """Whether a statement must stay the first of its body: a bare string, or an import from `__future__`."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    first = statement.body[0]
    if isinstance(first, cst.Expr):
        return isinstance(first.value, cst.SimpleString | cst.ConcatenatedString)
    module = first.module if isinstance(first, cst.ImportFrom) else None
    return isinstance(module, cst.Name) and module.value == "__future__"


def _statement(code: str) -> cst.SimpleStatementLine:
    made = cst.parse_statement(code)
    assert isinstance(made, cst.SimpleStatementLine)
    return made


def _above(node: Statement, statements: Sequence[cst.SimpleStatementLine]) -> list[Statement]:
    """Return the statements and then the node; what stood above the node now stands above them."""
    if not statements:
        return [node]
    first, *others = statements
    lines = getattr(node, "leading_lines", ())
    return [first.with_changes(leading_lines=lines), *others, node.with_changes(leading_lines=())]


def _commented(node: Statement, text: str) -> Statement:
    lines = getattr(node, "leading_lines", ())
    return node.with_changes(leading_lines=[*lines, cst.EmptyLine(comment=cst.Comment(text))])


def _wrapped(node: Statement, notes: Sequence[str]) -> cst.Try:
    handler = cst.ExceptHandler(
        type=cst.Name("Exception"),
        body=cst.IndentedBlock([*(_statement(code) for code in notes), _statement("raise")]),
    )
    return cst.Try(
        body=cst.IndentedBlock([node.with_changes(leading_lines=())]),
        handlers=[handler],
        leading_lines=getattr(node, "leading_lines", ()),
    )
