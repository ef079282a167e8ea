"""Injections into Python, by concrete syntax tree: every character that is not part of the change stays as it was."""

import ast
import builtins
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from voirdire.edits._prove_python import (
    hides_names,
    identifiers,
    is_docstring,
    looks_inside,
    module_loggers,
    own_names,
    prove,
    readable,
)
from voirdire.edits.injection import (
    ERROR_TEXTS,
    LOG_TEXTS,
    STATEMENT_KINDS,
    Injected,
    InjectionKind,
    NotInjected,
    Proof,
    Wanted,
    chosen_places,
    comment_texts,
    drawn,
    scaffolding_doses,
)
from voirdire.errors import DataError, MissingExtraError
from voirdire.languages.python import Function

if TYPE_CHECKING:
    import libcst as cst

LONGEST_WRAPPED = 30
"""Lines of a statement that is wrapped: more would indent half of the program."""

_PLAIN = ("SimpleStatementLine", "If", "For", "While", "With", "Try", "Match")
"""Statements before which something can stand. Definitions are left alone: what is above them reads as theirs."""
_WRAPPED = ("SimpleStatementLine", "If", "For", "While", "With")
_UNWRAPPED = ("Import", "ImportFrom", "Global", "Nonlocal", "Pass", "Break", "Continue")
_NEW_NAMES = ("{}_value", "{}_item", "{}_local", "current_{}", "{}_entry")


def injector(language: str) -> "PythonInjector":  # noqa: ARG001 - one language, as the shape of every such module
    """Return the injector. Raises MissingExtraError without libcst."""
    try:
        import_module("libcst")
    except ImportError:
        raise MissingExtraError(
            "edits of Python need libcst, which is not installed", hint="pip install 'voirdire[edits]'"
        ) from None
    return PythonInjector()


@dataclass(frozen=True)
class PythonInjector:
    """Edits Python programs that this interpreter can read."""

    language: str = "python"
    kinds: frozenset[InjectionKind] = frozenset(InjectionKind)

    def inject(self, source: str, wanted: Wanted) -> Injected | NotInjected:
        """Return the edited program, or why there is none; the same for the same seed."""
        try:
            program = _program(source)
            plan = _planned(program, wanted)
            if isinstance(plan, NotInjected):
                return plan
            return _done(source, program.written(plan), plan)
        except DataError as error:
            return NotInjected(str(error).partition(":")[0])
        except RecursionError:
            return NotInjected("the code is nested too deeply")

    def prove(self, before: str, after: str, kind: InjectionKind) -> Proof:
        """Compare two programs by their texts alone: is the second the first but for a change of this kind?"""
        return prove(before, after, kind)

    def stub(self, source: str, wanted: Wanted) -> Injected | NotInjected:
        """Return the program with the bodies of all functions that lie wholly on `wanted.lines` emptied: the control."""
        try:
            return _stubbed(source, wanted)
        except DataError as error:
            return NotInjected(str(error).partition(":")[0])


@dataclass
class _Plan:
    """What is to be done, by the statement it is done to."""

    before: dict["cst.CSTNode", list[str]] = field(default_factory=dict)
    """Log lines before a statement, as code."""
    comments: dict["cst.CSTNode", str] = field(default_factory=dict)
    wrapped: dict["cst.CSTNode", list[str]] = field(default_factory=dict)
    """Statements to wrap, with what the handler says before it raises again."""
    documented: dict["cst.CSTNode", str] = field(default_factory=dict)
    uncommented: set["cst.CSTNode"] = field(default_factory=set)
    renamed: dict["cst.CSTNode", str] = field(default_factory=dict)
    imports: bool = False
    """Whether `import logging` is written at the top."""
    places: int = 0
    inserted: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Place:
    """A statement: where it stands, in which block, and what encloses that."""

    node: Any
    first: int
    last: int
    block: int
    function: str
    in_class: bool
    leads: bool
    """Whether it must stay the first of its body: a docstring or a `from __future__`."""


@dataclass(frozen=True)
class _Program:
    """A program read both ways: the concrete tree with positions, and the abstract one."""

    source: str
    tree: ast.Module
    module: Any
    positions: Mapping[Any, Any]
    places: tuple[_Place, ...]

    def lines(self, node: Any) -> tuple[int, int]:
        """Return the first and the last line of a node."""
        where = self.positions[node]
        return where.start.line, where.end.line

    def written(self, plan: _Plan) -> str:
        """Return the program with the plan carried out."""
        from voirdire.edits._write_python import Changes, rewritten

        return rewritten(
            self.module,
            Changes(
                plan.before,
                plan.comments,
                plan.wrapped,
                plan.documented,
                plan.uncommented,
                plan.renamed,
                plan.imports,
            ),
        )


@lru_cache(maxsize=8)
def _program(source: str) -> _Program:
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    tree = readable(source)
    try:
        module = cst.parse_module(source)
    except cst.ParserSyntaxError:
        raise DataError("the concrete syntax tree cannot be made", hint="leave this sample out") from None
    if module.code != source:
        raise DataError("the text does not survive being read", hint="leave this sample out")
    wrapper = MetadataWrapper(module)
    positions = wrapper.resolve(PositionProvider)
    places = tuple(_places(wrapper.module, positions))
    return _Program(source, tree, wrapper.module, positions, places)


def _places(module: Any, positions: Mapping[Any, Any]) -> Iterator[_Place]:
    """Yield every statement that stands on lines of its own, in the order of the text."""
    import libcst as cst

    from voirdire.edits._write_python import leads as must_lead

    waiting: list[tuple[Any, str, bool, bool]] = [(module, "", False, True)]
    found: list[_Place] = []
    while waiting:
        node, function, in_class, body = waiting.pop()
        if isinstance(node, cst.Module | cst.IndentedBlock):
            leading = body
            for statement in node.body:
                leads = leading and must_lead(statement)
                leading = leads
                where = positions[statement]
                if type(statement).__name__ in _PLAIN:
                    found.append(
                        _Place(
                            statement, where.start.line, where.end.line, id(node), function, in_class, leads
                        )
                    )
        for child in node.children:
            match node:
                case cst.FunctionDef():
                    waiting.append((child, node.name.value, False, True))
                case cst.ClassDef():
                    waiting.append((child, function, True, True))
                case _:
                    waiting.append((child, function, in_class, isinstance(node, cst.Module)))
    return iter(sorted(found, key=lambda place: place.first))


# --- plans ----------------------------------------------------------------------------------------------


def _planned(program: _Program, wanted: Wanted) -> _Plan | NotInjected:
    kind = wanted.kind
    if kind is InjectionKind.COMMENTS_REMOVED:
        return _uncommented(program, wanted)
    if kind is InjectionKind.DOCSTRINGS:
        return _documented(program, wanted)
    if kind is InjectionKind.RENAMED_LOCALS:
        return _renamed(program, wanted)
    if kind in STATEMENT_KINDS:
        return _scaffolded(program, wanted)
    return _commented(program, wanted)


def _commented(program: _Program, wanted: Wanted) -> _Plan | NotInjected:
    plan = _Plan()
    _add_comments(plan, _open_places(program, wanted), wanted, wanted.dose)
    if plan.places:
        return plan
    no_brief = wanted.kind is InjectionKind.BRIEF_COMMENTS and not comment_texts(wanted, 1)
    return NotInjected("there is no brief to echo" if no_brief else "no place for a comment")


def _open_places(program: _Program, wanted: Wanted) -> list[_Place]:
    """Return the statements before which something may be inserted."""
    return [place for place in program.places if wanted.may_insert_before(place.first) and not place.leads]


def _add_comments(plan: _Plan, places: Sequence[_Place], wanted: Wanted, dose: int) -> None:
    chosen = chosen_places(len(places), dose, seed=wanted.seed)
    for at, text in zip(chosen, comment_texts(wanted, len(chosen)), strict=False):
        plan.comments[places[at].node] = f"# {text}"
        plan.inserted.append(f"# {text}")
        plan.places += 1


def _uncommented(program: _Program, wanted: Wanted) -> _Plan | NotInjected:
    import libcst as cst
    import libcst.matchers as m

    every = [
        node
        for node in m.findall(program.module, m.Comment())
        if isinstance(node, cst.Comment)
        and wanted.may_touch(*program.lines(node))
        and not _is_directive(node.value, program.lines(node)[0])
    ]
    every.sort(key=lambda node: program.lines(node)[0])
    chosen = chosen_places(len(every), wanted.dose, seed=wanted.seed)
    if not chosen:
        return NotInjected("no comment to remove")
    return _Plan(uncommented={every[at] for at in chosen}, places=len(chosen))


def _is_directive(text: str, line: int) -> bool:
    """Whether a comment is read by the interpreter: the first line's `#!`, or the encoding on the first two."""
    return line <= 2 and (text.startswith("#!") or "coding" in text)


def _documented(program: _Program, wanted: Wanted) -> _Plan | NotInjected:
    import libcst as cst
    import libcst.matchers as m

    if "__doc__" in set(identifiers(program.tree)):
        return NotInjected("the program reads its own docstrings")
    plan = _Plan()
    bodies = [
        node
        for node in m.findall(program.module, m.FunctionDef() | m.ClassDef())
        if isinstance(node, cst.FunctionDef | cst.ClassDef)
        and isinstance(node.body, cst.IndentedBlock)
        and node.get_docstring() is None
        and wanted.may_insert_before(program.lines(node.body.body[0])[0])
    ]
    bodies.sort(key=lambda node: program.lines(node)[0])
    for at in chosen_places(len(bodies), wanted.dose, seed=wanted.seed):
        node = bodies[at]
        noun = "Hold the data" if isinstance(node, cst.ClassDef) else "Do the work"
        text = f'"""{noun} of {node.name.value}."""'
        plan.documented[node.body.body[0]] = text
        plan.inserted.append(text)
        plan.places += 1
    return plan if plan.places else NotInjected("no function or class without a docstring")


def _scaffolded(program: _Program, wanted: Wanted) -> _Plan | NotInjected:
    doses = {
        InjectionKind.LOGGING: (wanted.dose, 0, 0),
        InjectionKind.ERROR_WRAPPERS: (0, wanted.dose, 0),
        InjectionKind.SCAFFOLDING: scaffolding_doses(wanted.dose),
    }
    logs, wrappers, comments = doses[wanted.kind]
    logger = _Logger.of(program, wanted)
    if logger is None:
        return NotInjected("the name 'logging' means something else here")
    plan = _Plan()
    places = [place for place in _open_places(program, wanted) if not place.in_class]
    if not logger.everywhere:
        places = [place for place in places if place.function or logger.local]
    _add_wrappers(plan, [one for one in places if _can_wrap(one, wanted)], logger, wanted, wrappers)
    _add_logs(plan, places, logger, wanted, logs)
    plan.imports = logger.at_top and bool(plan.before or plan.wrapped)
    if not plan.before and not plan.wrapped:
        return NotInjected("no statement to wrap" if not logs else "no place for a log line")
    if comments:
        _add_comments(plan, _open_places(program, wanted), wanted, comments)
    return plan


@dataclass(frozen=True)
class _Logger:
    """How a log call is written here. `local`: `logging` is imported where it is needed; `at_top`: at the top."""

    call: str
    local: bool = False
    at_top: bool = False

    @property
    def everywhere(self) -> bool:
        """Whether it can be used at the top level of the module too."""
        return self.local

    @staticmethod
    def of(program: _Program, wanted: Wanted) -> "_Logger | None":
        """Return how; None where the name means something else in this program."""
        from voirdire.edits._write_python import leads as must_lead

        imported, names = module_loggers(program.tree)
        if names:
            return _Logger(names[0])
        direct = "logging.getLogger(__name__)"
        if imported:
            return _Logger(direct)
        if "logging" in set(identifiers(program.tree)):
            return None
        first = next((place for place in program.places if not place.leads), None)
        statements = [node for node in program.module.body if not must_lead(node)]
        at_top = (
            first is not None
            and not hides_names(program.tree)
            and bool(statements)
            and wanted.may_insert_before(program.lines(statements[0])[0])
            and not _has_decorators(statements[0])
        )
        return _Logger(direct, local=not at_top, at_top=at_top)

    def lines(self, text: str, *, error: bool = False, imported: bool = False) -> list[str]:
        """Return the statements that log a text; `imported`: the same block has imported `logging` already."""
        details = ", exc_info=True" if error else ""
        call = f'{self.call}.debug("{text}"{details})'
        return ["import logging", call] if self.local and not imported else [call]


def _has_decorators(node: Any) -> bool:
    return bool(getattr(node, "decorators", ()))


def _can_wrap(place: _Place, wanted: Wanted) -> bool:
    import libcst as cst

    if type(place.node).__name__ not in _WRAPPED or place.last - place.first >= LONGEST_WRAPPED:
        return False
    if getattr(place.node, "asynchronous", None) is not None:
        return False
    simple = place.node.body if isinstance(place.node, cst.SimpleStatementLine) else ()
    if any(type(part).__name__ in _UNWRAPPED for part in simple) or _is_bare(simple):
        return False
    return wanted.may_touch(place.first, place.last)


def _is_bare(parts: Sequence[Any]) -> bool:
    import libcst as cst

    return (
        len(parts) == 1
        and isinstance(parts[0], cst.Expr)
        and isinstance(parts[0].value, cst.SimpleString | cst.ConcatenatedString | cst.Ellipsis)
    )


def _add_wrappers(plan: _Plan, places: Sequence[_Place], logger: _Logger, wanted: Wanted, dose: int) -> None:
    """Wrap statements, never one within another that is wrapped."""
    order = list(range(len(places)))
    random.Random(wanted.seed + 1).shuffle(order)
    taken: list[_Place] = []
    for at in order:
        place = places[at]
        if len(taken) >= dose:
            break
        if any(place.first <= other.last and other.first <= place.last for other in taken):
            continue
        taken.append(place)
    taken.sort(key=lambda place: place.first)
    for place, text in zip(taken, drawn(ERROR_TEXTS, len(taken), seed=wanted.seed), strict=True):
        notes = logger.lines(_said(place, text), error=True)
        plan.wrapped[place.node] = notes
        plan.inserted += ["try:", "except Exception:", *notes, "raise"]
        plan.places += 1


def _add_logs(plan: _Plan, places: Sequence[_Place], logger: _Logger, wanted: Wanted, dose: int) -> None:
    chosen = chosen_places(len(places), dose, seed=wanted.seed)
    texts = drawn(LOG_TEXTS, len(chosen), seed=wanted.seed)
    importing: set[int] = set()
    for at, text in zip(chosen, texts, strict=True):
        place = places[at]
        lines = logger.lines(_said(place, text), imported=place.block in importing)
        importing.add(place.block)
        plan.before[place.node] = lines
        plan.inserted += lines
        plan.places += 1


def _said(place: _Place, text: str) -> str:
    return f"{place.function}: {text}" if place.function else text


def _renamed(program: _Program, wanted: Wanted) -> _Plan | NotInjected:
    if (name := looks_inside(program.tree)) is not None:
        return NotInjected(f"the program may look at its own variables ('{name}')")
    taken = {*identifiers(program.tree), *dir(builtins)}
    candidates = [
        (name, nodes)
        for name, nodes in _own_variables(program)
        if all(wanted.may_touch(*program.lines(node)) for node in nodes)
    ]
    random.Random(wanted.seed).shuffle(candidates)
    plan = _Plan()
    for name, nodes in candidates:
        if plan.places >= wanted.dose:
            break
        new = next((text for form in _NEW_NAMES if (text := form.format(name)) not in taken), None)
        if new is None or not _holds_alone(program, nodes, new):
            continue
        taken.add(new)
        plan.renamed.update(dict.fromkeys(nodes, new))
        plan.places += 1
        plan.inserted.append(f"{name} -> {new}")
    return plan if plan.places else NotInjected("no local variable can be renamed")


def _own_variables(program: _Program) -> Iterator[tuple[str, list[Any]]]:
    """Yield the local variables that can be renamed, function by function, each with all its nodes."""
    import libcst as cst
    import libcst.matchers as m

    own = {
        (node.lineno, node.name): own_names(node).plain
        for node in ast.walk(program.tree)
        if isinstance(node, Function)
    }
    functions = [
        node for node in m.findall(program.module, m.FunctionDef()) if isinstance(node, cst.FunctionDef)
    ]
    for function in sorted(functions, key=lambda node: program.lines(node.name)[0]):
        plain = own.get((program.lines(function.name)[0], function.name.value), frozenset())
        nodes: dict[str, list[Any]] = {}
        for node in _variables_in(function.body):
            nodes.setdefault(node.value, []).append(node)
        yield from ((name, nodes[name]) for name in sorted(plain) if name in nodes)


def _variables_in(body: Any) -> Iterator[Any]:
    """Yield the names in a tree that stand for variables: no attributes, no keywords of calls or patterns."""
    import libcst as cst

    waiting = [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, cst.Name):
            yield node
        left_out = {
            id(getattr(node, field, None))
            for kind, field in (
                (cst.Attribute, "attr"),
                (cst.Arg, "keyword"),
                (cst.MatchKeywordElement, "key"),
            )
            if isinstance(node, kind)
        }
        waiting += [child for child in node.children if id(child) not in left_out]


def _holds_alone(program: _Program, nodes: Sequence[Any], new: str) -> bool:
    text = program.written(_Plan(renamed=dict.fromkeys(nodes, new)))
    return prove(program.source, text, InjectionKind.RENAMED_LOCALS).holds


# --- results --------------------------------------------------------------------------------------------


def _done(source: str, text: str, plan: _Plan) -> Injected:
    return Injected(text, plan.places, text.count("\n") - source.count("\n"), tuple(plan.inserted))


def _stubbed(source: str, wanted: Wanted) -> Injected | NotInjected:
    tree = readable(source)
    lines = source.split("\n")
    places = 0
    for function in reversed(_outermost(tree)):
        body = function.body[1:] if is_docstring(function.body[0]) else function.body
        if not body or body[0].lineno == function.lineno or body[0].col_offset == 0:
            continue
        first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        first = min([first, *(one.lineno for one in getattr(body[0], "decorator_list", ()))])
        if not wanted.may_touch(first, last):
            continue
        ending = "\r" if lines[first - 1].endswith("\r") else ""
        indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        lines[first - 1 : last] = [f"{indent}return None{ending}"]
        places += 1
    text = "\n".join(lines)
    if not places:
        return NotInjected("no function whose whole body may be emptied")
    if ast.dump(readable(text)) == ast.dump(tree):
        return NotInjected("the functions are empty already")
    return Injected(text, places, text.count("\n") - source.count("\n"), ("return None",) * places)


def _outermost(tree: ast.Module) -> list[Function]:
    """Return the functions that stand in no other one, in order."""
    found: list[Function] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function):
            found.append(node)
            continue
        waiting += list(ast.iter_child_nodes(node))
    return sorted(found, key=lambda node: node.lineno)
