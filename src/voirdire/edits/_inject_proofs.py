"""Proofs that an edited JavaScript, TypeScript or Go program is the same program, from the two texts alone.

Comments: tokens, tree and the line ends that may stand for semicolons are equal, and no directive was touched. Statements:
the trees are walked side by side; what the second has more must be a log line of literals alone or a wrapper that raises
the same error again, everything else must be equal and in order. Not part of a proof: what a program reads of its own text
or line numbers, what it prints while it runs, time, memory and the depth of its stack.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from voirdire.edits._inject_trees import (
    DEEPEST,
    OPAQUE,
    Node,
    Program,
    holder_of,
    is_directive,
    nodes,
    statements,
    text_of,
)
from voirdire.edits.injection import InjectionKind

COMMENTS_HOW = "tokens, tree and line ends between tokens, without comments; directives as they were"
STATEMENTS_HOW = "original statements unchanged and in order, apart from log lines of literals and wrappers that raise again"

LOG_METHODS = frozenset({"debug", "log", "info", "warn", "error"})
GO_LOGS = frozenset({"Print", "Println", "Printf"})
_GO_BUILTIN_LOGS = frozenset({"println", "print"})

_BLOCK_SCOPED = frozenset(
    {
        *(
            "lexical_declaration",
            "function_declaration",
            "generator_function_declaration",
            "class_declaration",
        ),
        *("abstract_class_declaration", "import_statement", "export_statement", "type_alias_declaration"),
        *("interface_declaration", "enum_declaration", "ambient_declaration", "internal_module", "module"),
        *("function_signature", "import_alias", "using_declaration"),
    }
)
"""Statements that mean something else within a block of their own."""

_DOCUMENTED = {
    *("function_declaration", "generator_function_declaration", "class_declaration", "lexical_declaration"),
    *("variable_declaration", "method_definition", "export_statement", "abstract_class_declaration"),
    *(
        "interface_declaration",
        "type_alias_declaration",
        "enum_declaration",
        "public_field_definition",
        "pair",
    ),
    *("method_declaration", "type_declaration", "const_declaration", "var_declaration", "function_signature"),
    *("method_signature", "property_signature", "abstract_method_signature", "expression_statement"),
}


# --- comments ---------------------------------------------------------------------------------------


def comments_differ(before: Program, after: Program, kind: InjectionKind) -> str | None:
    """Return the first difference beyond comments that may be added (or removed, by kind); None where there is none."""
    if why := _tokens_differ(before, after):
        return why
    for number in range(1, len(before.tokens)):
        if before.breaks[number] != after.breaks[number]:
            return f"a line end before {_shown(before, number)} came or went"
    for number in sorted(before.fixed_gaps | after.fixed_gaps):
        if before.gap(number) != after.gap(number):
            return f"a directive or preamble before {_shown(before, number)} is not as it was"
    less, more = (after, before) if kind is InjectionKind.COMMENTS_REMOVED else (before, after)
    extra = comments_beyond(less, more)
    if extra is None:
        return "comments that were to stay are not as they were"
    if kind is InjectionKind.DOCSTRINGS:
        return next((why for gap in extra if (why := _no_documentation(after, gap))), None)
    return None


def comments_beyond(less: Program, more: Program) -> list[int] | None:
    """Return the gaps of the comments that only `more` has; None where it lacks one of the others or has them elsewhere."""
    wanted = [(comment.gap, _normal(comment.text)) for comment in less.comments]
    extra: list[int] = []
    at = 0
    for comment in more.comments:
        if at < len(wanted) and wanted[at] == (comment.gap, _normal(comment.text)):
            at += 1
        else:
            extra.append(comment.gap)
    return extra if at == len(wanted) else None


def _normal(comment: str) -> str:
    """Return a comment without the indentation of its lines."""
    return "\n".join(line.strip() for line in comment.split("\n"))


def _tokens_differ(before: Program, after: Program) -> str | None:
    for number, (one, other) in enumerate(zip(before.tokens, after.tokens, strict=False)):
        if (one.kind, one.text) != (other.kind, other.text):
            return f"{_shown(before, number)} became {_shown(after, number)}"
    if len(before.tokens) != len(after.tokens):
        return f"{len(before.tokens)} tokens became {len(after.tokens)}"
    return None if before.shape == after.shape else "the trees differ"


def _no_documentation(program: Program, gap: int) -> str | None:
    if gap >= len(program.tokens):
        return "a comment documents nothing"
    start = program.tokens[gap].start
    node = program.root.descendant_for_byte_range(start, start)
    while node is not None and node.start_byte == start:
        if node.type in _DOCUMENTED:
            return None
        node = node.parent
    return f"a comment before {_shown(program, gap)} documents nothing"


def _shown(program: Program, number: int) -> str:
    if number >= len(program.tokens):
        return "the end"
    token = program.tokens[number]
    return f"'{token.text[:40].decode(errors='replace')}' in line {program.line_of(token.start)}"


# --- statements -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Allowed:
    """What may have been inserted."""

    logs: bool
    wrappers: bool
    comments: bool


ALLOWED = {
    InjectionKind.LOGGING: Allowed(logs=True, wrappers=False, comments=False),
    InjectionKind.ERROR_WRAPPERS: Allowed(logs=False, wrappers=True, comments=False),
    InjectionKind.SCAFFOLDING: Allowed(logs=True, wrappers=True, comments=True),
}


def statements_differ(before: Program, after: Program, kind: InjectionKind) -> str | None:
    """Return the first difference beyond what may be inserted by kind; None where there is none."""
    allowed = ALLOWED[kind]
    if max(before.depth, after.depth) > DEEPEST:
        return "nested too deeply to compare"
    matcher = _Matcher(before, after, allowed)
    if not matcher.same(before.root, after.root):
        return matcher.why or "the statements differ"
    if why := _names_differ(before, matcher):
        return why
    if directives(before) != directives(after):
        return "a directive is not as it was"
    return _other_comments(before, after, allowed)


def directives(program: Program) -> list[tuple[str, bytes, int]]:
    """Return each directive with the token that follows it and the lines between them; Go's preamble as one."""
    found = [
        (_normal(comment.text), *_followed_by(program, comment.gap, comment.end))
        for comment in program.comments
        if is_directive(comment.text, program.language)
    ]
    preambles = (n for n in sorted(program.fixed_gaps) if program.is_go and n < len(program.tokens))
    return [*found, *((program.gap(n).decode(), program.tokens[n].text, 0) for n in preambles)]


def _followed_by(program: Program, gap: int, end: int) -> tuple[bytes, int]:
    if gap >= len(program.tokens):
        return b"", 0
    token = program.tokens[gap]
    return token.text, program.raw[end : token.start].count(b"\n")


def _other_comments(before: Program, after: Program, allowed: Allowed) -> str | None:
    old = [_normal(comment.text) for comment in before.comments]
    new = [_normal(comment.text) for comment in after.comments]
    if not allowed.comments:
        return None if old == new else "comments are not as they were"
    rest = iter(new)
    return None if all(comment in rest for comment in old) else "comments that were to stay are not there"


def _names_differ(before: Program, matcher: "_Matcher") -> str | None:
    """Return why what was inserted does not mean what it says: a name it uses is bound in the program."""
    used = matcher.names_used
    if used and next(nodes(before.root, "with_statement"), None) is not None:
        return "what a name means within 'with' is not known"
    for node in nodes(
        before.root, "identifier", "package_identifier", "shorthand_property_identifier_pattern"
    ):
        name = text_of(node)
        if name in used and not _is_mere_use(node, before):
            return f"'{name}' is another name's in line {node.start_point[0] + 1}"
    if matcher.log_imports > 1 or (matcher.log_imports and _imports_log(before)):
        return "log is imported twice"
    if matcher.log_imports and "log" not in used:
        return "log is imported and not used"
    if "log" in used and not (_imports_log(before) or matcher.log_imports):
        return "log is used and not imported"
    return None


def _is_mere_use(node: Node, program: Program) -> bool:
    parent = node.parent
    if not program.is_go:
        return bool(parent.type == "member_expression" and parent.child_by_field_name("object") == node)
    if text_of(node) == "log":
        return bool(parent.type == "selector_expression" and parent.child_by_field_name("operand") == node)
    return bool(parent.type == "call_expression" and parent.child_by_field_name("function") == node)


def _imports_log(program: Program) -> bool:
    return any(is_log_import(spec) for spec in nodes(program.root, "import_spec"))


def is_log_import(spec: Node) -> bool:
    """Whether a Go import brings the package log under its own name."""
    return spec.child_by_field_name("name") is None and text_of(spec).strip() == '"log"'


class _Matcher:
    """Walks two trees side by side. `names_used`: names that what was inserted relies on."""

    def __init__(self, before: Program, after: Program, allowed: Allowed) -> None:
        self._before = before
        self._after = after
        self._allowed = allowed
        self._free = _free_starts(before)
        self.names_used: set[str] = set()
        self.log_imports = 0
        self.why: str | None = None

    def same(self, one: Node, other: Node) -> bool:
        """Whether the second node is the first, apart from what was inserted within."""
        if one.type != other.type:
            return self._no(one, other)
        ours, theirs = statements(one), statements(other)
        if one.type in OPAQUE or not (ours or theirs):
            return self._same_leaf(one, other)
        if one.type in self._before.lists or (
            self._before.is_go and one.type in ("source_file", "import_spec_list")
        ):
            return self._same_list(ours, theirs, one)
        if len(ours) != len(theirs):
            return self._no(one, other)
        if one.type in ("template_string", "jsx_element", "jsx_fragment") and _blanks(one) != _blanks(other):
            return self._no(one, other)
        return all(self.same(left, right) for left, right in zip(ours, theirs, strict=True))

    def _same_leaf(self, one: Node, other: Node) -> bool:
        if one.text != other.text:
            return self._no(one, other)
        ours = self._before.number_at.get(one.start_byte)
        theirs = self._after.number_at.get(other.start_byte)
        if ours is None or theirs is None or one.start_byte in self._free:
            return True
        return self._before.breaks[ours] == self._after.breaks[theirs] or self._no(one, other)

    def _same_list(self, ours: Sequence[Node], theirs: Sequence[Node], holder: Node) -> bool:
        """Whether the first list is the second without what was inserted; wrappers are opened as they are met."""
        rest, wanted = list(reversed(theirs)), list(ours)
        at, in_prologue = 0, True
        while rest:
            node = rest.pop()
            failed = self.why
            if at < len(wanted) and self.same(wanted[at], node):
                in_prologue = in_prologue and (
                    _is_prologue(node) or not node.is_named or node.type == "hash_bang_line"
                )
                at += 1
                continue
            before_prologue = at < len(wanted) and in_prologue and _is_prologue(wanted[at])
            if before_prologue or not self._skipped(node, rest, holder):
                return False
            self.why = failed
        return at == len(wanted) or self._no(wanted[at], holder)

    def _skipped(self, node: Node, rest: list[Node], holder: Node) -> bool:
        """Whether a statement was inserted; the statements within a wrapper go back to the rest."""
        if self._before.is_go:
            return self._skipped_in_go(node, holder)
        if self._allowed.logs and _is_js_log(node):
            self.names_used.add("console")
            return True
        inner = wrapped(node) if self._allowed.wrappers else None
        if inner is None:
            return False
        if b"console" in node.child_by_field_name("handler").text:
            self.names_used.add("console")
        rest += reversed(inner)
        return True

    def _skipped_in_go(self, node: Node, holder: Node) -> bool:
        if _brings_log(node):
            self.log_imports += 1
            return True
        name = go_log_name(node)
        if name is not None:
            self.names_used.add(name)
            return self._allowed.logs or (self._allowed.wrappers and is_error_branch(holder))
        if not (self._allowed.wrappers and is_repanic(node) and _is_function_body(holder)):
            return False
        if any(text_of(found) == "recover" for found in nodes(holder, "identifier")):
            return False
        self.names_used |= {"recover", "panic"} | {
            name for inner in nodes(node, "expression_statement") if (name := go_log_name(inner))
        }
        return True

    def _no(self, one: Node, other: Node) -> bool:
        if self.why is None:
            self.why = (
                f"'{_head(one)}' in line {one.start_point[0] + 1} became "
                f"'{_head(other)}' in line {other.start_point[0] + 1}"
            )
        return False


def _blanks(node: Node) -> list[int]:
    """Return how much stands between the children of a node."""
    children = node.children
    return [right.start_byte - left.end_byte for left, right in pairwise(children)]


def _free_starts(program: Program) -> set[int]:
    """Return where a line end before a token means nothing: where a statement of a list begins or a block ends."""
    return {
        child.start_byte
        for node in nodes(program.root)
        if node.type in program.lists or node.type in ("source_file", "import_spec_list")
        for child in statements(node)
    }


def _head(node: Node) -> str:
    return " ".join(text_of(node).split())[:60]


def _is_prologue(node: Node) -> bool:
    """Whether a statement is a string alone, such as 'use strict'."""
    return bool(
        node.type == "expression_statement"
        and node.named_child_count
        and node.named_children[0].type == "string"
    )


# --- JavaScript and TypeScript ----------------------------------------------------------------------


def _is_js_log(node: Node) -> bool:
    """Whether a statement is a call of console with literals alone, ended by its semicolon."""
    inner = statements(node)
    if node.type != "expression_statement" or len(inner) != 2 or inner[1].type != ";":
        return False
    call = inner[0]
    callee = call.child_by_field_name("function") if call.type == "call_expression" else None
    if callee is None or callee.type != "member_expression" or len(statements(call)) != 2:
        return False
    owner, member = callee.child_by_field_name("object"), callee.child_by_field_name("property")
    return (
        owner.type == "identifier"
        and (owner.text, member.type) == (b"console", "property_identifier")
        and text_of(member) in LOG_METHODS
        and "?." not in (child.type for child in callee.children)
        and _are_literals(call.child_by_field_name("arguments"))
    )


def _are_literals(arguments: Node) -> bool:
    if arguments.type == "template_string":
        return False
    named = [child for child in arguments.named_children if child.type != "comment"]
    return bool(named) and all(child.type in ("string", "number") for child in named)


def wrapped(node: Node) -> list[Node] | None:
    """Return the statements within a try whose catch, after log lines of literals, throws the same error; None: no such."""
    if node.type != "try_statement" or node.child_by_field_name("finalizer") is not None:
        return None
    handler, body = node.child_by_field_name("handler"), node.child_by_field_name("body")
    caught = handler.child_by_field_name("parameter") if handler is not None else None
    if caught is None or caught.type != "identifier" or handler.child_by_field_name("type") is not None:
        return None
    inner = [child for child in statements(body) if child.is_named]
    if not inner or any(child.type in _BLOCK_SCOPED or _is_prologue(child) for child in inner):
        return None
    done = [child for child in statements(handler.child_by_field_name("body")) if child.is_named]
    if not done or not all(map(_is_js_log, done[:-1])):
        return None
    thrown = statements(done[-1])
    again = done[-1].type == "throw_statement" and [child.text for child in thrown[:2]] == [
        b"throw",
        caught.text,
    ]
    return inner if again and all(child.type == ";" for child in thrown[2:]) else None


# --- Go ---------------------------------------------------------------------------------------------


def go_log_name(node: Node) -> str | None:
    """Return what a log line of string literals alone calls: 'log', or the built-in; None where it is no such line."""
    if node.type != "expression_statement" or not node.children or node.children[0].type != "call_expression":
        return None
    call = node.children[0]
    callee, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    named = [child for child in arguments.named_children if child.type != "comment"]
    if not named or any(child.type != "interpreted_string_literal" for child in named):
        return None
    if callee.type == "identifier":
        return text_of(callee) if text_of(callee) in _GO_BUILTIN_LOGS else None
    if callee.type != "selector_expression" or b"%" in arguments.text:
        return None
    owner, member = callee.child_by_field_name("operand"), callee.child_by_field_name("field")
    return "log" if owner.text == b"log" and text_of(member) in GO_LOGS else None


def is_error_branch(holder: Node) -> bool:
    """Whether a block is what an `if NAME != nil` runs."""
    parent = holder.parent
    if parent is None or parent.type != "if_statement" or parent.child_by_field_name("consequence") != holder:
        return False
    condition = parent.child_by_field_name("condition")
    sides = [child.type for child in condition.children]
    return condition.type == "binary_expression" and sides == ["identifier", "!=", "nil"]


def _is_function_body(holder: Node) -> bool:
    return holder.type == "block" and holder.parent.type in (
        "function_declaration",
        "method_declaration",
        "func_literal",
    )


def is_repanic(node: Node) -> bool:
    """Whether a statement defers a function that, where something panics, logs literals and panics with the same again."""
    if node.type != "defer_statement":
        return False
    blocks = list(nodes(node, "block"))
    logs = [child for child in statements(blocks[-1]) if go_log_name(child)] if blocks else []
    skipped = [(log.start_byte, log.end_byte) for log in logs]
    words = [
        text_of(leaf)
        for leaf in _leaves(node)
        if not any(start <= leaf.start_byte < end for start, end in skipped)
    ]
    name = words[6] if len(words) > 6 else ""
    return (
        name.isidentifier()
        and name not in ("recover", "panic", "log", "println", "print", "nil")
        and words
        == [
            *(
                "defer",
                "func",
                "(",
                ")",
                "{",
                "if",
                name,
                ":=",
                "recover",
                "(",
                ")",
                ";",
                name,
                "!=",
                "nil",
                "{",
            ),
            *("panic", "(", name, ")", "}", "}", "(", ")"),
        ]
    )


def _leaves(node: Node) -> Iterable[Node]:
    return (
        leaf
        for leaf in nodes(node)
        if not leaf.children and leaf.type not in ("comment", "\n") and leaf.text.strip()
    )


def _brings_log(node: Node) -> bool:
    if node.type == "import_spec":
        return holder_of(node).type == "import_spec_list" and is_log_import(node)
    specs = list(nodes(node, "import_spec")) if node.type == "import_declaration" else []
    return len(specs) == 1 and is_log_import(specs[0])
