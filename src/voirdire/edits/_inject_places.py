"""Where a JavaScript, TypeScript or Go program can take an insertion: before which statements, on which lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from voirdire.edits._inject_names import has_directive
from voirdire.edits._inject_proofs import is_error_branch
from voirdire.edits._inject_trees import Node, Program, ancestors, holder_of, nodes, statements, text_of
from voirdire.edits.injection import Wanted

JS_FUNCTIONS = frozenset(
    {
        *(
            "function_declaration",
            "generator_function_declaration",
            "function_expression",
            "generator_function",
        ),
        *("arrow_function", "method_definition"),
    }
)
GO_FUNCTIONS = frozenset({"function_declaration", "method_declaration", "func_literal"})

_ENDING = frozenset(
    {
        *("return_statement", "throw_statement", "break_statement", "continue_statement", "goto_statement"),
        *("fallthrough_statement",),
    }
)
_NO_LOG_BEFORE = frozenset(
    {
        *("import_statement", "export_statement", "function_declaration", "generator_function_declaration"),
        *("interface_declaration", "type_alias_declaration", "labeled_statement", "empty_statement"),
        *("fallthrough_statement", "ambient_declaration", "function_signature"),
    }
)
_WRAPPABLE = frozenset(
    {
        *("expression_statement", "return_statement", "if_statement", "for_statement", "for_in_statement"),
        *("while_statement", "do_statement", "switch_statement", "variable_declaration"),
    }
)


@dataclass(frozen=True)
class Anchor:
    """A place before the beginning of a line. `offset`: where the line begins; `indent`: its blanks."""

    offset: int
    indent: str


def _anchor(program: Program, node: Node) -> Anchor:
    offset = program.line_start(program.line_of(node.start_byte))
    return Anchor(offset, program.indent(node.start_byte))


def anchors(program: Program, wanted: Wanted) -> list[Anchor]:
    """Return the places for comments: before the statements that begin a line."""
    return [_anchor(program, node) for node in _open_statements(program, wanted)]


def log_anchors(program: Program, wanted: Wanted) -> list[Anchor]:
    """Return the places for log lines: within functions, or, where none lies on these lines, anywhere in JavaScript."""
    found = [node for node in _open_statements(program, wanted) if _may_log_before(program, node)]
    inside = [node for node in found if _in_function(program, node)]
    return [_anchor(program, node) for node in inside or found]


def _open_statements(program: Program, wanted: Wanted) -> Iterator[Node]:
    """Yield the statements before which a line may be inserted."""
    for holder in nodes(program.root, *program.lists):
        ended = False
        for node in _statements_of(holder):
            if not ended and _is_open(program, node, wanted):
                yield node
            ended = ended or node.type in _ENDING


def _statements_of(holder: Node) -> list[Node]:
    inner = [child for child in statements(holder) if child.is_named]
    if holder.type in ("switch_case", "expression_case", "type_case", "communication_case"):
        colon = next(child.end_byte for child in holder.children if child.type == ":")
        return [child for child in inner if child.start_byte >= colon]
    return [child for child in inner if child.type != "hash_bang_line"]


def _is_open(program: Program, node: Node, wanted: Wanted) -> bool:
    number = program.number_at.get(node.start_byte)
    return (
        number is not None
        and number not in program.fixed_gaps
        and program.starts_line(node)
        and wanted.may_insert_before(program.line_of(node.start_byte))
        and not _is_prologue_like(node)
    )


def _is_prologue_like(node: Node) -> bool:
    return bool(node.type == "expression_statement" and node.named_children[0].type == "string")


def _may_log_before(program: Program, node: Node) -> bool:
    return (
        node.type not in _NO_LOG_BEFORE
        and not _calls_super(node)
        and not any(_is_told(program, outer) for outer in ancestors(node) if outer.type in GO_FUNCTIONS)
    )


def _is_told(program: Program, function: Node) -> bool:
    """Whether a directive before a Go function tells the compiler how to treat it."""
    return program.is_go and program.number_at[function.start_byte] in program.fixed_gaps


def _calls_super(node: Node) -> bool:
    return node.type == "expression_statement" and text_of(node).startswith("super(")


def _in_function(program: Program, node: Node) -> bool:
    kinds = GO_FUNCTIONS if program.is_go else JS_FUNCTIONS
    return any(outer.type in kinds for outer in ancestors(node))


# --- wrappers ---------------------------------------------------------------------------------------


def wrappable(program: Program, wanted: Wanted) -> list[Node]:
    """Return the innermost JavaScript statements within functions that can stand in a try without meaning something else."""
    able = [
        node
        for node in _open_statements(program, wanted)
        if node.type in _WRAPPABLE
        and holder_of(node).type in ("statement_block", "switch_case", "switch_default")
        and _in_function(program, node)
        and not _calls_super(node)
        and program.ends_its_line(node)
        and wanted.may_touch(program.line_of(node.start_byte), program.line_of(node.end_byte - 1))
        and not has_directive(program, node.start_byte, node.end_byte)
        and not (node.type == "return_statement" and not node.named_child_count)
    ]
    return [one for one in able if not any(_holds(one, other) for other in able)]


def _holds(outer: Node, inner: Node) -> bool:
    around = outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte
    return bool(around and outer.id != inner.id)


def error_branches(program: Program, wanted: Wanted) -> list[Anchor]:
    """Return the places at the head of what a Go `if err != nil` runs."""
    found = []
    for holder in nodes(program.root, "block"):
        inner = _statements_of(holder)
        if inner and is_error_branch(holder) and _is_open(program, inner[0], wanted):
            found.append(_anchor(program, inner[0]))
    return found


def repanic_anchors(program: Program, wanted: Wanted) -> list[Anchor]:
    """Return the places at the head of Go functions that neither recover nor speak to the compiler."""
    found = []
    for function in nodes(program.root, *GO_FUNCTIONS):
        body = function.child_by_field_name("body")
        inner = _statements_of(body) if body is not None else []
        if not inner or not _is_open(program, inner[0], wanted):
            continue
        recovers = any(node.text == b"recover" for node in nodes(body, "identifier"))
        if not recovers and not _is_told(program, function):
            found.append(_anchor(program, inner[0]))
    return found


# --- documentation ----------------------------------------------------------------------------------


def documentation(program: Program, wanted: Wanted) -> list[tuple[Anchor, list[str]]]:
    """Return the places before functions and classes without a comment, each with the lines that document it."""
    found: dict[int, tuple[Anchor, list[str]]] = {}
    for node, name, function in _documentable(program):
        line, number = program.line_of(node.start_byte), program.number_at.get(node.start_byte)
        if number is None or _is_documented(program, number, node):
            continue
        if (
            number in program.fixed_gaps
            or not program.starts_line(node)
            or not wanted.may_insert_before(line)
        ):
            continue
        place = _anchor(program, node)
        found.setdefault(place.offset, (place, _documenting(program, name, function)))
    return [found[offset] for offset in sorted(found)]


def _is_documented(program: Program, number: int, node: Node) -> bool:
    """Whether a comment stands directly above a node."""
    above = [comment for comment in program.comments if comment.gap == number]
    return bool(above) and program.line_of(above[-1].end - 1) >= program.line_of(node.start_byte) - 1


def _documentable(program: Program) -> Iterator[tuple[Node, str, Node]]:
    """Yield what can be documented: the node before which the comment goes, its name, the function or class."""
    if program.is_go:
        for node in nodes(program.root, "function_declaration", "method_declaration"):
            yield node, text_of(node.child_by_field_name("name")), node
        return
    for node in nodes(program.root, *_JS_DOCUMENTABLE):
        name = node.child_by_field_name("name")
        if node.type in ("lexical_declaration", "variable_declaration"):
            declarators = [child for child in node.named_children if child.type == "variable_declarator"]
            value = declarators[0].child_by_field_name("value") if len(declarators) == 1 else None
            if value is None or value.type not in JS_FUNCTIONS:
                continue
            yield _outermost(node), text_of(declarators[0].child_by_field_name("name")), value
        elif node.type in ("expression_statement", "pair"):
            given = node.named_children[0] if node.type == "expression_statement" else node
            value = given.child_by_field_name("right" if given is not node else "value")
            target = given.child_by_field_name("left" if given is not node else "key")
            if value is not None and target is not None and value.type in JS_FUNCTIONS:
                yield node, text_of(target).rpartition(".")[2], value
        elif name is not None:
            yield _outermost(node), text_of(name), node


_JS_DOCUMENTABLE = (
    *("function_declaration", "generator_function_declaration", "method_definition", "class_declaration"),
    *("lexical_declaration", "variable_declaration", "expression_statement", "pair"),
)


def _outermost(node: Node) -> Node:
    """Return the export around a declaration, or the declaration."""
    return node.parent if node.parent is not None and node.parent.type == "export_statement" else node


def _documenting(program: Program, name: str, function: Node) -> list[str]:
    words = (
        " ".join(part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)) or "inner"
    )
    if program.is_go:
        return [f"// {name} carries out the {words} step."]
    lines = ["/**", f" * Carries out the {words} step."]
    parameters = function.child_by_field_name("parameters")
    for parameter in parameters.named_children if parameters is not None else []:
        inner = parameter.child_by_field_name("pattern")
        leaf = inner if inner is not None else parameter
        if leaf.type == "identifier":
            lines.append(f" * @param {text_of(leaf)} The {text_of(leaf)} to use.")
    return [*lines, " */"]


# --- comments that go -------------------------------------------------------------------------------


def removals(program: Program, wanted: Wanted) -> list[tuple[int, int, str]]:
    """Return for each comment that can go the edit that takes it away, with its line where it has one of its own."""
    found = []
    for comment in program.comments:
        first, last = program.line_of(comment.start), program.line_of(comment.end - 1)
        if comment.gap in program.fixed_gaps or not wanted.may_touch(first, last):
            continue
        if comment.gap and _within_markup(program, comment.start):
            continue
        start, end = program.line_start(first), program.line_start(last + 1)
        ahead, behind = program.raw[start : comment.start], program.raw[comment.end : end]
        if not ahead.strip() and not behind.strip():
            edit = (start, end, "") if end > comment.end else (comment.start, comment.end, "")
        elif not behind.strip():
            edit = (start + len(ahead.rstrip()), comment.end, "")
        else:
            edit = (comment.start, comment.end, " ")
        gap = program.gap(comment.gap)
        base = program.tokens[comment.gap - 1].end if comment.gap else 0
        rest = gap[: max(0, edit[0] - base)] + edit[2].encode() + gap[max(0, edit[1] - base) :]
        if program.ends_line(rest) == program.ends_line(gap) or comment.gap in (0, len(program.tokens)):
            found.append(edit)
    return found


def _within_markup(program: Program, offset: int) -> bool:
    node = program.root.descendant_for_byte_range(offset, offset)
    return any(outer.type.startswith("jsx_") or outer.type == "template_string" for outer in ancestors(node))


# --- stubs ------------------------------------------------------------------------------------------


def stubs(program: Program, wanted: Wanted) -> list[tuple[int, int, str]]:
    """Return the edits that empty the outermost functions on these lines; constructors of derived classes stay."""
    kinds = GO_FUNCTIONS if program.is_go else JS_FUNCTIONS
    edits: list[tuple[int, int, str]] = []
    reached = 0
    for function in nodes(program.root, *kinds):
        body = function.child_by_field_name("body")
        first, last = program.line_of(function.start_byte), program.line_of(function.end_byte - 1)
        if body is None or body.start_byte < reached or not wanted.may_touch(first, last):
            continue
        if _is_derived_constructor(function):
            continue
        edits.append((body.start_byte, body.end_byte, _empty_body(program, function)))
        reached = body.end_byte
    return edits


def _is_derived_constructor(function: Node) -> bool:
    name = function.child_by_field_name("name")
    if function.type != "method_definition" or name.text != b"constructor":
        return False
    return any(child.type == "class_heritage" for child in function.parent.parent.children)


def _empty_body(program: Program, function: Node) -> str:
    result = function.child_by_field_name("result")
    if not program.is_go or result is None:
        return "{}"
    if result.type != "parameter_list":
        return f"{{ return *new({text_of(result)}) }}"
    if any(one.child_by_field_name("name") is not None for one in result.named_children):
        return "{ return }"
    types = (text_of(one.child_by_field_name("type")) for one in result.named_children)
    return "{ return " + ", ".join(f"*new({one})" for one in types) + " }"
