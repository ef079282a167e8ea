"""Local names: which occurrences belong to one binding, new names for them, and the proof that nothing else changed.

Two programs are equal up to local names when their trees are equal and their occurrences fall into the same bindings. As
what is new may not occur anywhere in the old text, no name can be captured.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module

from voirdire.edits._inject_trees import DEEPEST, OPAQUE, Node, Program, apply_edits, is_directive, text_of
from voirdire.edits.injection import Injected, NotInjected, Wanted, chosen_places

NAMES_HOW = "trees equal and every occurrence in the same binding, new names nowhere in the old text"

SHORTHANDS = {
    "shorthand_property_identifier": "pair",
    "shorthand_property_identifier_pattern": "pair_pattern",
}
"""Names that are a key and a value at once, and what they become where the two differ."""

_WORDS = ("value", "item", "current", "entry", "part", "piece", "element", "data", "thing", "state", "unit")


@dataclass(eq=False)
class Binding:
    """One local name. `fixed`: why it may not be changed; '' where it may. `at`: its occurrences, in order."""

    name: str
    fixed: str = ""
    at: list[Node] = field(default_factory=list)


@dataclass
class Resolved:
    """What the names of a program mean: the binding of each occurrence, by the offset at which it starts."""

    bindings: list[Binding] = field(default_factory=list)
    of: dict[int, Binding] = field(default_factory=dict)
    refused: str = ""

    def declare(self, name: str, fixed: str = "") -> Binding:
        """Return a new binding."""
        self.bindings.append(Binding(name, fixed))
        return self.bindings[-1]

    def use(self, node: Node, binding: Binding) -> None:
        """Note an occurrence."""
        if node.start_byte not in self.of:
            self.of[node.start_byte] = binding
            binding.at.append(node)


def resolved(program: Program) -> Resolved:
    """Return what the local names of a program mean."""
    if program.depth > DEEPEST:
        return Resolved(refused="nested too deeply")
    room = "voirdire.edits._inject_names_go" if program.is_go else "voirdire.edits._inject_names_js"
    found: Resolved = import_module(room).resolve(program)
    return found


def rename(program: Program, wanted: Wanted) -> Injected | NotInjected:
    """Give at most `dose` local names of functions another one, each at all its places."""
    found = resolved(program)
    if found.refused:
        return NotInjected(found.refused)
    able = [one for one in found.bindings if not one.fixed and one.at and _may_touch(program, one, wanted)]
    chosen = chosen_places(len(able), wanted.dose, seed=wanted.seed)
    if not chosen:
        return NotInjected("no local name that can be changed on these lines")
    names = _fresh_names(program, len(able), wanted.seed)
    edits = [_edit(node, names[place]) for place in chosen for node in able[place].at]
    return Injected(apply_edits(program.raw, edits), len(chosen), 0, tuple(names[place] for place in chosen))


def _may_touch(program: Program, binding: Binding, wanted: Wanted) -> bool:
    lines = {program.line_of(node.start_byte) for node in binding.at}
    return all(wanted.may_touch(line, line) for line in lines)


def _edit(node: Node, name: str) -> tuple[int, int, str]:
    key = f"{text_of(node)}: " if node.type in SHORTHANDS else ""
    return node.start_byte, node.end_byte, f"{key}{name}"


def _fresh_names(program: Program, count: int, seed: int) -> list[str]:
    """Return names that stand nowhere in the program, the same for a place whatever the dose."""
    taken = words_of(program)
    order = list(_WORDS)
    random.Random(seed).shuffle(order)
    names: list[str] = []
    number = 1
    while len(names) < count:
        for word in order:
            name = f"{word}{number}"
            if name not in taken:
                names.append(name)
        number += 1
    return names[:count]


def words_of(program: Program) -> frozenset[str]:
    """Return the texts of all tokens."""
    return frozenset(token.text.decode(errors="replace") for token in program.tokens)


# --- proof ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
    """A node in the order of the text, a shorthand as its key and value. `binding`: of a local name's occurrence."""

    depth: int
    kind: str
    text: str
    breaks: bool
    line: int
    binding: Binding | None = None


def names_differ(before: Program, after: Program) -> str | None:
    """Return the first difference beyond local names; None where there is none."""
    old, new = resolved(before), resolved(after)
    if old.refused or new.refused:
        return old.refused or new.refused
    if [comment.text for comment in before.comments] != [comment.text for comment in after.comments]:
        return "comments are not as they were"
    ours, theirs = _entries(before, old), _entries(after, new)
    why = _first_difference(ours, theirs, words_of(before))
    if why is None and len(ours) != len(theirs):
        return "there is more or less than before"
    return why


def _first_difference(ours: Sequence[_Entry], theirs: Sequence[_Entry], taken: frozenset[str]) -> str | None:
    there: dict[Binding, Binding] = {}
    back: dict[Binding, Binding] = {}
    for one, other in zip(ours, theirs, strict=False):
        if (one.depth, one.kind, one.breaks) != (other.depth, other.kind, other.breaks):
            return f"'{one.text}' in line {one.line} became '{other.text}'"
        if one.binding is None or other.binding is None:
            if one.text != other.text or one.binding is not other.binding:
                return f"'{one.text}' in line {one.line} became '{other.text}', and is no local name of the same function"
            continue
        if there.setdefault(one.binding, other.binding) is not other.binding:
            return f"'{one.text}' in line {one.line} and its other places no longer belong together"
        if back.setdefault(other.binding, one.binding) is not one.binding:
            return f"'{other.text}' in line {one.line} now stands for two names"
        if why := _bad_name(one.binding, other.binding, taken):
            return why
    return None


def _bad_name(old: Binding, new: Binding, taken: frozenset[str]) -> str | None:
    if old.name == new.name:
        return None
    if old.fixed:
        return f"'{old.name}' may not be renamed: {old.fixed}"
    return f"'{new.name}' is in the program already" if new.name in taken else None


def _entries(program: Program, found: Resolved) -> list[_Entry]:
    entries: list[_Entry] = []
    stack: list[tuple[Node, int]] = [(program.root, 0)]
    while stack:
        node, depth = stack.pop()
        if node.type in ("comment", "\n"):
            continue
        children = [] if node.type in OPAQUE else node.children
        line = node.start_point[0] + 1
        if children:
            entries.append(_Entry(depth, node.type, "", False, line))
            stack += [(child, depth + 1) for child in reversed(children)]
            continue
        number = program.number_at.get(node.start_byte)
        breaks = number is not None and program.breaks[number]
        entries += _leaf_entries(node, depth, breaks, found.of.get(node.start_byte))
    return entries


def _leaf_entries(node: Node, depth: int, breaks: bool, binding: Binding | None) -> list[_Entry]:
    text, line = text_of(node), node.start_point[0] + 1
    if node.type not in SHORTHANDS:
        return [_Entry(depth, node.type, text, breaks, line, binding)]
    return [
        _Entry(depth, SHORTHANDS[node.type], "", False, line),
        _Entry(depth + 1, "property_identifier", text, breaks, line),
        _Entry(depth + 1, ":", ":", False, line),
        _Entry(depth + 1, "identifier", text, False, line, binding),
    ]


def has_directive(program: Program, start: int, end: int) -> bool:
    """Whether a directive stands between two offsets."""
    return any(
        start <= comment.start < end and is_directive(comment.text, program.language)
        for comment in program.comments
    )
