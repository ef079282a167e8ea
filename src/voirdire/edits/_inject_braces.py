"""Injections into JavaScript, TypeScript and Go, on trees of tree-sitter.

Log lines hold literals alone. A JavaScript wrapper is a try whose catch logs and throws the same error. In Go it is a log
line at the head of an `if err != nil` block, or a deferred function that logs and panics with the same value again (which,
before Go 1.21, would turn `panic(nil)` into a plain return: functions that recover themselves are left alone, and tests
decide the rest). Go logs with `log.Printf` where log is imported or may be, else with the built-in `println`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from voirdire.edits._inject_names import NAMES_HOW, names_differ, rename
from voirdire.edits._inject_places import (
    Anchor,
    anchors,
    documentation,
    error_branches,
    log_anchors,
    removals,
    repanic_anchors,
    stubs,
    wrappable,
)
from voirdire.edits._inject_proofs import (
    COMMENTS_HOW,
    STATEMENTS_HOW,
    comments_differ,
    is_log_import,
    statements_differ,
)
from voirdire.edits._inject_trees import (
    Node,
    Program,
    apply_edits,
    holder_of,
    need_grammar,
    nodes,
    program_or_reason,
    text_of,
)
from voirdire.edits.injection import (
    ERROR_TEXTS,
    LOG_TEXTS,
    STATEMENT_KINDS,
    Injected,
    InjectionKind,
    Injector,
    NotInjected,
    Proof,
    Wanted,
    chosen_places,
    comment_texts,
    drawn,
    scaffolding_doses,
)

Edit = tuple[int, int, str]
"""Bytes from one offset to another, and what stands there instead."""


@dataclass(frozen=True)
class _Change:
    """What one kind does. `inserted`: the new texts; edits at one place come in their order."""

    edits: Sequence[Edit]
    places: int
    inserted: tuple[str, ...]


@dataclass
class BracesInjector:
    """Edits programs of one language with braces."""

    language: str
    kinds: frozenset[InjectionKind] = frozenset(InjectionKind)

    def inject(self, source: str, wanted: Wanted) -> Injected | NotInjected:
        """Return the edited program, or why there is none; the same for the same seed."""
        program = program_or_reason(source, self.language)
        if isinstance(program, str):
            return NotInjected(program)
        if wanted.kind is InjectionKind.RENAMED_LOCALS:
            return rename(program, wanted)
        made = _MAKERS[wanted.kind](program, wanted)
        return made if isinstance(made, NotInjected) else _injected(program, made)

    def prove(self, before: str, after: str, kind: InjectionKind) -> Proof:
        """Compare two programs by their texts alone: is the second the first but for a change of this kind?"""
        how, differ = _proof_of(kind)
        old = program_or_reason(before, self.language)
        if isinstance(old, str):
            return Proof(False, how, f"the text before {old}")
        new = program_or_reason(after, self.language)
        if isinstance(new, str):
            return Proof(False, how, f"the text after {new}")
        why = differ(old, new)
        return Proof(why is None, how, why)

    def stub(self, source: str, wanted: Wanted) -> Injected | NotInjected:
        """Return the program with the bodies of all functions that lie wholly on `wanted.lines` emptied: the control.

        A Go function returns zero values; imports that only the body used stay, which a compiler would refuse.
        """
        program = program_or_reason(source, self.language)
        if isinstance(program, str):
            return NotInjected(program)
        edits = stubs(program, wanted)
        if not edits:
            return NotInjected("no function with a body on these lines")
        return _injected(program, _Change(edits, len(edits), tuple(text for _, _, text in edits)))


def injector(language: str) -> Injector:
    """Return the injector of a language; MissingExtraError where its grammar is not installed."""
    need_grammar(language)
    return BracesInjector(language)


def _proof_of(kind: InjectionKind) -> tuple[str, Callable[[Program, Program], str | None]]:
    if kind is InjectionKind.RENAMED_LOCALS:
        return NAMES_HOW, names_differ
    if kind in STATEMENT_KINDS:
        return STATEMENTS_HOW, lambda old, new: statements_differ(old, new, kind)
    return COMMENTS_HOW, lambda old, new: comments_differ(old, new, kind)


def _injected(program: Program, change: _Change) -> Injected:
    source = apply_edits(program.raw, list(change.edits))
    grown = source.count("\n") - program.raw.count(b"\n")
    return Injected(source, change.places, grown, change.inserted)


# --- comments ---------------------------------------------------------------------------------------


def _comments(program: Program, wanted: Wanted) -> _Change | NotInjected:
    places = anchors(program, wanted)
    texts = comment_texts(wanted, len(places))
    if places and not texts:
        return NotInjected("the brief has no words for a comment")
    return _lines_before(program, wanted, places, [[f"// {text}"] for text in texts])


def _documented(program: Program, wanted: Wanted) -> _Change | NotInjected:
    found = documentation(program, wanted)
    places, texts = [place for place, _ in found], [lines for _, lines in found]
    return _lines_before(program, wanted, places, texts)


def _removed(program: Program, wanted: Wanted) -> _Change | NotInjected:
    found = removals(program, wanted)
    chosen = chosen_places(len(found), wanted.dose, seed=wanted.seed)
    if not chosen:
        return NotInjected("no comment that can be removed on these lines")
    return _Change([found[place] for place in chosen], len(chosen), ("",) * len(chosen))


def _lines_before(
    program: Program, wanted: Wanted, places: Sequence[Anchor], texts: Sequence[Sequence[str]]
) -> _Change | NotInjected:
    """Put lines before some of the places, indented as what follows."""
    chosen = chosen_places(len(places), wanted.dose, seed=wanted.seed)
    if not chosen:
        return NotInjected("no place for an insertion on these lines")
    edits = [_before(program, places[at], texts[at]) for at in chosen]
    return _Change(edits, len(chosen), tuple("\n".join(texts[at]) for at in chosen))


def _before(program: Program, place: Anchor, lines: Iterable[str]) -> Edit:
    text = "".join(f"{place.indent}{line}{program.newline}" for line in lines)
    return place.offset, place.offset, text


# --- statements -------------------------------------------------------------------------------------


def _logs(program: Program, wanted: Wanted) -> _Change | NotInjected:
    places = log_anchors(program, wanted)
    call, brought = _log_call(program, wanted)
    texts = [[call(text)] for text in drawn(LOG_TEXTS, len(places), seed=wanted.seed)]
    made = _lines_before(program, wanted, places, texts)
    return made if isinstance(made, NotInjected) else replace(made, edits=[*brought, *made.edits])


def _wrappers(program: Program, wanted: Wanted) -> _Change | NotInjected:
    return _go_wrappers(program, wanted) if program.is_go else _js_wrappers(program, wanted)


def _go_wrappers(program: Program, wanted: Wanted) -> _Change | NotInjected:
    branches, functions = error_branches(program, wanted), repanic_anchors(program, wanted)
    call, brought = _log_call(program, wanted)
    texts = drawn(ERROR_TEXTS, len(branches) + len(functions), seed=wanted.seed)
    lines = [[call(text)] for text in texts[: len(branches)]]
    lines += [_repanic(call(text)) for text in texts[len(branches) :]]
    made = _lines_before(program, wanted, [*branches, *functions], lines)
    return made if isinstance(made, NotInjected) else replace(made, edits=[*brought, *made.edits])


def _repanic(log: str) -> list[str]:
    head = ["defer func() {", "\tif failure := recover(); failure != nil {"]
    return [*head, f"\t\t{log}", "\t\tpanic(failure)", "\t}", "}()"]


def _js_wrappers(program: Program, wanted: Wanted) -> _Change | NotInjected:
    found = wrappable(program, wanted)
    chosen = chosen_places(len(found), wanted.dose, seed=wanted.seed)
    if not chosen:
        return NotInjected("no statement that can be wrapped on these lines")
    texts = drawn(ERROR_TEXTS, len(found), seed=wanted.seed)
    edits: list[Edit] = []
    for at in chosen:
        edits += _js_wrapped(program, found[at], f'console.error("{texts[at]}");')
    return _Change(edits, len(chosen), tuple(texts[at] for at in chosen))


def _js_wrapped(program: Program, node: Node, log: str) -> list[Edit]:
    """Return the edits that put a statement, indented once more, within a try."""
    outer, newline = program.indent(node.start_byte), program.newline
    unit = _indent_unit(program, node)
    first, last = program.line_of(node.start_byte), program.line_of(node.end_byte - 1)
    starts = [program.line_start(line) for line in range(first, last + 1)]
    edits: list[Edit] = [(starts[0], starts[0], f"{outer}try {{{newline}")]
    edits += [(start, start, unit) for start in starts if _may_indent(program, start)]
    lines = ["} catch (error) {", f"{unit}{log}", f"{unit}throw error;", "}"]
    behind = program.line_start(last + 1)
    ended = program.raw[behind - 1 : behind] == b"\n"
    text = "".join(f"{outer}{line}{newline}" for line in lines)
    return [*edits, (behind, behind, text if ended else f"{newline}{text.removesuffix(newline)}")]


def _indent_unit(program: Program, node: Node) -> str:
    """Return by how much a statement is indented beyond the line on which its block begins."""
    own, around = program.indent(node.start_byte), program.indent(holder_of(node).start_byte)
    return own.removeprefix(around) or ("\t" if "\t" in own else "  ")


def _may_indent(program: Program, start: int) -> bool:
    """Whether a line that holds something begins between two tokens, outside comments."""
    at_blank = program.raw[start : start + 2].lstrip(b"\r")[:1] in (b"\n", b"")
    within = any(one.start < start < one.end for one in program.comments) or any(
        token.start < start < token.end for token in program.tokens
    )
    return not (at_blank or within or _in_template(program, start))


def _in_template(program: Program, start: int) -> bool:
    node = program.root.descendant_for_byte_range(start, start)
    while node is not None:
        if node.type in ("template_string", "jsx_element", "jsx_fragment"):
            return True
        node = node.parent
    return False


def _log_call(program: Program, wanted: Wanted) -> tuple[Callable[[str], str], list[Edit]]:
    """Return how to write a log line, and the edits that bring what it needs."""
    if not program.is_go:
        return lambda text: f'console.debug("{text}");', []
    if any(is_log_import(spec) for spec in nodes(program.root, "import_spec")):
        return lambda text: f'log.Printf("{text}")', []
    brought = _log_import(program, wanted)
    if brought is None:
        return lambda text: f'println("{text}")', []
    return lambda text: f'log.Printf("{text}")', [brought]


def _log_import(program: Program, wanted: Wanted) -> Edit | None:
    """Return the edit that imports log in order among the others; None where its line may not be added or log is taken."""
    if any(text_of(node) == "log" for node in nodes(program.root, "identifier", "package_identifier")):
        return None
    for listed in nodes(program.root, "import_spec_list"):
        specs = [spec for spec in listed.named_children if spec.type == "import_spec"]
        if not specs or not all(map(program.starts_line, specs)) or b'"C"' in listed.parent.text:
            return None
        after = next((spec for spec in specs if _path(spec) > "log"), None)
        place = after if after is not None else specs[-1]
        line = program.line_of(place.start_byte) + (after is None)
        start, indent = program.line_start(line), program.indent(place.start_byte)
        follows = after if after is not None else listed.children[-1]
        if not wanted.may_insert_before(line) or program.number_at[follows.start_byte] in program.fixed_gaps:
            return None
        return start, start, f'{indent}"log"{program.newline}'
    last = [node for node in program.root.children if node.type in ("package_clause", "import_declaration")][
        -1
    ]
    if b'"C"' in last.text or not program.ends_its_line(last):
        return None
    line = program.line_of(last.end_byte - 1) + 1
    if not wanted.may_insert_before(line):
        return None
    blank = program.newline if last.type == "package_clause" else ""
    return program.line_start(line), program.line_start(line), f'{blank}import "log"{program.newline}'


def _path(spec: Node) -> str:
    return text_of(spec.child_by_field_name("path")).strip('"`')


# --- all of it --------------------------------------------------------------------------------------


def _scaffolding(program: Program, wanted: Wanted) -> _Change | NotInjected:
    """Return comments, log lines and wrappers in one change; what finds no place is left out."""
    logs, wrappers, comments = scaffolding_doses(wanted.dose)
    made = [
        _comments(program, replace(wanted, dose=comments)),
        _logs(program, replace(wanted, dose=logs)),
        _wrappers(program, replace(wanted, dose=wrappers)),
    ]
    done = [one for one in made if not isinstance(one, NotInjected)]
    if not done:
        return NotInjected("no place for an insertion on these lines")
    edits: list[Edit] = []
    for one in done:
        edits += [edit for edit in one.edits if not _is_import(edit) or edit not in edits]
    inserted = tuple(text for one in done for text in one.inserted)
    return _Change(edits, sum(one.places for one in done), inserted)


def _is_import(edit: Edit) -> bool:
    return edit[2].strip().endswith('"log"')


_MAKERS: dict[InjectionKind, Callable[[Program, Wanted], _Change | NotInjected]] = {
    InjectionKind.NEUTRAL_COMMENTS: _comments,
    InjectionKind.BRIEF_COMMENTS: _comments,
    InjectionKind.ADVOCACY: _comments,
    InjectionKind.COMMENTS_REMOVED: _removed,
    InjectionKind.LOGGING: _logs,
    InjectionKind.ERROR_WRAPPERS: _wrappers,
    InjectionKind.SCAFFOLDING: _scaffolding,
    InjectionKind.DOCSTRINGS: _documented,
}
