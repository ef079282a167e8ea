"""Proofs that two Python programs do the same, from their texts alone: nothing is known of how the second was made.

Comments: the tokens are the same without comments, and so is the tree. Inserted statements: each original statement is
there, unchanged and in order, and what stands between is a log call that prints nothing, its import or logger, or a
wrapper that raises again what it catches. Docstrings: equal but for docstrings where there was none. Renamed locals: the
same tree up to a one-to-one renaming of a function's own variables to names that occur nowhere.
"""

import ast
import builtins
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from voirdire.edits.injection import COMMENT_KINDS, InjectionKind, Proof
from voirdire.errors import DataError
from voirdire.languages.python import Function, tree_of

DEEPEST = 150
"""Levels of nesting beyond which a program is not looked at: no person wrote it, and walking it may exhaust the stack."""

Scope = Function | ast.Lambda | ast.ClassDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_LOOKS_INSIDE = frozenset(
    {
        "locals",
        "vars",
        "eval",
        "exec",
        "dir",
        "inspect",
        "_getframe",
        "currentframe",
        "f_locals",
        "co_varnames",
    }
)
"""Names whose use may show a program its own variables."""
_QUIET = frozenset({"debug", "info"})
"""Levels that print nothing unless the program itself asks for it."""
_HOW = {
    InjectionKind.DOCSTRINGS: "syntax tree equal without docstrings",
    InjectionKind.RENAMED_LOCALS: "syntax tree equal up to a one-to-one renaming of local variables",
}


class _Differs(Exception):
    """The first difference, in words."""


def prove(before: str, after: str, kind: InjectionKind) -> Proof:
    """Return whether `after` is `before` but for a change of this kind. Never raises."""
    if kind in COMMENT_KINDS:
        how = "syntax tree and tokens equal without comments"
    else:
        how = _HOW.get(kind, "original statements unchanged and in order; nothing inserted acts or prints")
    try:
        _compare(before, after, kind)
    except _Differs as why:
        return Proof(False, how, str(why))
    except DataError as why:
        return Proof(False, how, str(why))
    except (RecursionError, MemoryError):
        return Proof(False, how, "the code is nested too deeply")
    return Proof(True, how)


def readable(source: str) -> ast.Module:
    """Return the tree of a program that can be edited; DataError where it does not parse or is nested too deeply."""
    tree = tree_of(source)
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise DataError("the code is nested too deeply", hint="leave this sample out")


def _compare(before: str, after: str, kind: InjectionKind) -> None:
    old, new = readable(before), readable(after)
    if before == after:
        raise _Differs("nothing was changed")
    _compiles(old, new)
    if kind in COMMENT_KINDS:
        _same_tokens(before, after)
        _Walk(_Rule()).node(old, new)
        if kind is not InjectionKind.COMMENTS_REMOVED:
            _lines_kept(before, after)
        return
    if kind is not InjectionKind.SCAFFOLDING and _comments(before) != _comments(after):
        raise _Differs("comments differ too")
    if kind is InjectionKind.RENAMED_LOCALS:
        _Renaming(old, new).check()
        return
    _lines_kept(before, after)
    rule = _Rule(
        docstrings=kind is InjectionKind.DOCSTRINGS,
        logging=kind in (InjectionKind.LOGGING, InjectionKind.SCAFFOLDING),
        wrappers=kind in (InjectionKind.ERROR_WRAPPERS, InjectionKind.SCAFFOLDING)
        and not _binds(old, "Exception"),
        names=frozenset(identifiers(old)),
        loggers=_loggers(new),
        imported=_imports_first(new),
    )
    if rule.docstrings and "__doc__" in rule.names:
        raise _Differs("the program reads its own docstrings")
    _Walk(rule).node(old, new)
    if ast.dump(old) == ast.dump(new):
        raise _Differs("nothing of this kind was inserted")


def _compiles(old: ast.Module, new: ast.Module) -> None:
    """Refuse a second program that is no program although the first is one: a misplaced `from __future__`, and the like."""
    if _compile_error(new) and not _compile_error(old):
        raise _Differs(f"it cannot be compiled: {_compile_error(new)}")


def _compile_error(tree: ast.Module) -> str:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, "<program>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return str(error)
    return ""


# --- texts ----------------------------------------------------------------------------------------------


def _same_tokens(before: str, after: str) -> None:
    for one, other in zip_longest(_tokens(before), _tokens(after)):
        if one != other:
            raise _Differs(f"the code itself differs at {(other or one or ('', ''))[1]!r}")


def _tokens(source: str) -> list[tuple[int, str]]:
    """Return the tokens without comments, blank lines and the width of indentation."""
    left_out = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING)
    shapes = (tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE, tokenize.ENDMARKER)
    try:
        return [
            (token.type, "" if token.type in shapes else token.string)
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type not in left_out
        ]
    except (tokenize.TokenError, SyntaxError) as error:
        raise _Differs(f"it cannot be read word by word: {error}") from None


def _comments(source: str) -> list[str]:
    try:
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        return [token.string for token in tokens if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError) as error:
        raise _Differs(f"it cannot be read word by word: {error}") from None


def _lines_kept(before: str, after: str) -> None:
    """Refuse where a line of the first text, but for its indentation, does not stand in the second, in order."""
    lines = iter([line.strip() for line in after.split("\n")])
    for number, line in enumerate(before.split("\n"), 1):
        wanted = line.strip()
        if wanted and wanted not in lines:  # `in` moves the iterator on
            raise _Differs(f"line {number} was changed: {wanted[:60]!r}")


# --- trees, with insertions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Rule:
    """What may stand in the second program beside the first's statements."""

    docstrings: bool = False
    logging: bool = False
    wrappers: bool = False
    names: frozenset[str] = frozenset()
    loggers: frozenset[str] = frozenset()
    imported: bool = False

    @property
    def inserts(self) -> bool:
        return self.docstrings or self.logging or self.wrappers


@dataclass
class _Walk:
    """Compares two trees node by node. `bound`: whether `logging` has a value here; `scope`: what encloses it."""

    rule: _Rule
    bound: bool = False
    scope: list[ast.AST] = field(default_factory=list)

    def node(self, old: ast.AST, new: ast.AST) -> None:
        if type(old) is not type(new):
            raise _Differs(f"line {_line(new)}: {_name(old)} became {_name(new)}")
        enters = isinstance(old, Scope)
        bound = self.bound
        if enters:
            self.scope.append(new)
            self.bound = False
        for name in old._fields:
            self._field(getattr(old, name, None), getattr(new, name, None), old, new, name)
        if enters:
            self.scope.pop()
            self.bound = bound

    def _field(self, old: object, new: object, parent: ast.AST, other: ast.AST, name: str) -> None:
        if isinstance(old, ast.AST) and isinstance(new, ast.AST):
            self.node(old, new)
        elif isinstance(old, list) and isinstance(new, list):
            if self.rule.inserts and name in ("body", "orelse", "finalbody"):
                self._block(old, new, parent, name)
            else:
                self._pairwise(old, new, other)
        elif old != new or type(old) is not type(new):
            raise _Differs(f"line {_line(other)}: {old!r} became {new!r}"[:160])

    def _pairwise(self, old: Sequence[object], new: Sequence[object], parent: ast.AST) -> None:
        if len(old) != len(new):
            raise _Differs(f"line {_line(parent)}: {len(old)} parts became {len(new)}")
        for one, other in zip(old, new, strict=True):
            self._field(one, other, parent, parent, "")

    def _block(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt], parent: ast.AST, name: str) -> None:
        documented = name == "body" and isinstance(parent, ast.Module | ast.ClassDef | Function)
        was_bound = self.bound
        rest = self._after_docstring(old, new) if documented else (list(old), list(new))
        left = self._statements(*rest)
        if left:
            raise _Differs(f"a statement is gone: {ast.unparse(left[0])[:60]!r}")
        self.bound = was_bound

    def _after_docstring(
        self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]
    ) -> tuple[list[ast.stmt], list[ast.stmt]]:
        was, is_now = bool(old) and is_docstring(old[0]), bool(new) and is_docstring(new[0])
        if was and not is_now:
            raise _Differs(f"line {_line(new[0])}: the docstring is none any more")
        if is_now and not was:
            if not self.rule.docstrings:
                raise _Differs(f"line {_line(new[0])}: a docstring was added")
            return list(old), list(new[1:])
        return list(old), list(new)

    def _statements(self, old: list[ast.stmt], new: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Match the first's statements with the second's and return those that are left over."""
        for statement in new:
            why = self._why_not_same(old[0], statement) if old else None
            if old and why is None:
                old = old[1:]
            elif self.rule.wrappers and (inner := self._wrapped(statement)) is not None:
                old = self._statements(old, inner)
            elif not self._may_stand(statement):
                raise why or _Differs(
                    f"line {_line(statement)}: this may not be inserted: {_shown(statement)}"
                )
        return old

    def _why_not_same(self, old: ast.stmt, new: ast.stmt) -> _Differs | None:
        bound, depth = self.bound, len(self.scope)
        try:
            self.node(old, new)
        except _Differs as why:
            self.bound = bound
            del self.scope[depth:]
            return why
        return None

    def _may_stand(self, statement: ast.stmt) -> bool:
        if not (self.rule.logging or self.rule.wrappers):
            return False
        if self.scope and isinstance(self.scope[-1], ast.ClassDef):
            return False
        if _imports_logging(statement):
            fresh = "logging" not in self.rule.names
            self.bound = self.bound or fresh
            return fresh
        if _makes_logger(statement):
            assert isinstance(statement, ast.Assign)
            assert isinstance(statement.targets[0], ast.Name)
            return not self.scope and statement.targets[0].id not in self.rule.names
        return self.rule.logging and self._is_quiet_call(statement)

    def _wrapped(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """Return the statements within a wrapper that raises again what it catches, or None where it is none."""
        if not isinstance(statement, ast.Try) or statement.orelse or statement.finalbody:
            return None
        if len(statement.handlers) != 1:
            return None
        handler = statement.handlers[0]
        plain = isinstance(handler.type, ast.Name) and handler.type.id == "Exception"
        if not plain or handler.name is not None:
            return None
        *notes, last = handler.body
        if not isinstance(last, ast.Raise) or last.exc is not None or last.cause is not None:
            return None
        bound = self.bound
        fine = all(
            self._is_quiet_call(note) or (_imports_logging(note) and self._may_stand(note)) for note in notes
        )
        self.bound = bound
        return statement.body if fine else None

    def _is_quiet_call(self, statement: ast.stmt) -> bool:
        """Whether a statement is a log call of a level that prints nothing, of constants and of the function's parameters."""
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            return False
        call = statement.value
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _QUIET or not call.args:
            return False
        given = all(self._is_harmless(argument) for argument in call.args)
        named = all(word.arg == "exc_info" and isinstance(word.value, ast.Constant) for word in call.keywords)
        return given and named and self._is_logger(call.func.value)

    def _is_harmless(self, argument: ast.expr) -> bool:
        if isinstance(argument, ast.Constant):
            return True
        return isinstance(argument, ast.Name) and argument.id in self._parameters()

    def _parameters(self) -> frozenset[str]:
        inner = self.scope[-1] if self.scope else None
        if not isinstance(inner, Function):
            return frozenset()
        deleted = {
            node.id
            for node in ast.walk(inner)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)
        }
        return frozenset(one.arg for one in parameters(inner.args)) - deleted

    def _is_logger(self, value: ast.expr) -> bool:
        if isinstance(value, ast.Name):
            return value.id in self.rule.loggers
        return (self.rule.imported or self.bound) and _gets_logger(value)


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement is a bare string: the first of a body documents it."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _imports_logging(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Import)
        and len(statement.names) == 1
        and statement.names[0].name == "logging"
        and statement.names[0].asname is None
    )


def _gets_logger(value: ast.expr | None) -> bool:
    """Whether an expression is `logging.getLogger()` of a constant or of `__name__`."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "getLogger"
        and isinstance(value.func.value, ast.Name)
        and value.func.value.id == "logging"
        and not value.keywords
        and all(
            isinstance(one, ast.Constant) or (isinstance(one, ast.Name) and one.id == "__name__")
            for one in value.args
        )
    )


def _makes_logger(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and _gets_logger(statement.value)
    )


def preamble(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield what stands before the first statement that can run anything of the program: docstring, imports, loggers."""
    for statement in tree.body:
        if not (
            is_docstring(statement)
            or isinstance(statement, ast.Import | ast.ImportFrom)
            or _makes_logger(statement)
        ):
            return
        yield statement


def _imports_first(tree: ast.Module) -> bool:
    return any(_imports_logging(statement) for statement in preamble(tree)) and _binds_once(tree, "logging")


def _loggers(tree: ast.Module) -> frozenset[str]:
    """Return the names of the module's loggers: made before anything runs, and bound nowhere else."""
    if not _imports_first(tree):
        return frozenset()
    made = [one for one in preamble(tree) if _makes_logger(one)]
    names = [
        one.targets[0].id
        for one in made
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    ]
    return frozenset(name for name in names if names.count(name) == 1 and _binds_once(tree, name))


def module_loggers(tree: ast.Module) -> tuple[bool, tuple[str, ...]]:
    """Return whether `logging` is there from the beginning, and the names of the loggers that are."""
    return _imports_first(tree), tuple(sorted(_loggers(tree)))


KNOWN_STARS = frozenset(
    {
        "typing",
        "math",
        "re",
        "heapq",
        "itertools",
        "collections",
        "string",
        "functools",
        "bisect",
        "operator",
        "random",
    }
)
"""Modules of the standard library of which it is known that a star import brings neither `logging` nor a logger."""


def _is_known_star(node: ast.Import | ast.ImportFrom) -> bool:
    return isinstance(node, ast.ImportFrom) and node.level == 0 and node.module in KNOWN_STARS


def hides_names(tree: ast.Module) -> bool:
    """Whether a star import may bring any name."""
    return any(
        isinstance(node, ast.ImportFrom)
        and any(one.name == "*" for one in node.names)
        and not _is_known_star(node)
        for node in ast.walk(tree)
    )


def _binds_once(tree: ast.Module, name: str) -> bool:
    """Whether a name gets its value in one place of the program alone."""
    return _binds(tree, name) == 1


def _binds(tree: ast.Module, name: str) -> int:
    """Return in how many places a name gets a value, or may."""
    count = 0
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=found, ctx=ast.Store() | ast.Del()):
                count += found == name
            case ast.arg(arg=found):
                count += found == name
            case ast.Import() | ast.ImportFrom():
                count += sum((one.asname or one.name).partition(".")[0] == name for one in node.names)
                count += any(one.name == "*" for one in node.names) and not _is_known_star(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                count += node.name == name
            case ast.ExceptHandler(name=found) | ast.MatchAs(name=found) | ast.MatchStar(name=found):
                count += found == name
            case ast.Global() | ast.Nonlocal():
                count += name in node.names
    return count


# --- renamed locals ---------------------------------------------------------------------------------------


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Yield every name in a tree, whatever it names; attributes too."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.alias():
                yield (node.asname or node.name).partition(".")[0]
            case ast.Global() | ast.Nonlocal():
                yield from node.names
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield name
            case ast.MatchMapping(rest=str(name)) | ast.keyword(arg=str(name)):
                yield name


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Return all parameters of a function."""
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [*plain, *(one for one in (arguments.vararg, arguments.kwarg) if one is not None)]


@dataclass(frozen=True)
class OwnNames:
    """What a function's own names are: `plain`: bound by assignment, loop, `with` or `del` alone, and by nothing else.

    `uses`: the nodes of each name in the function itself, its comprehensions included. `elsewhere`: names that another
    scope within it also mentions, or that it binds in another way.
    """

    plain: frozenset[str]
    uses: dict[str, list[ast.Name]]


def own_names(function: Function) -> OwnNames:
    """Return the local variables of a function that nothing outside of it, and no scope within it, can see."""
    uses: dict[str, list[ast.Name]] = {}
    stored: set[str] = set()
    barred: set[str] = {one.arg for one in parameters(function.args)}
    waiting: list[tuple[ast.AST, bool]] = [(statement, False) for statement in function.body]
    while waiting:
        node, inside = waiting.pop()
        if isinstance(node, Scope):
            barred.update(identifiers(node))
            continue
        if isinstance(node, Comprehension):
            for generator in node.generators:
                barred.update(one.id for one in ast.walk(generator.target) if isinstance(one, ast.Name))
            barred.update(one.target.id for one in ast.walk(node) if isinstance(one, ast.NamedExpr))
        if isinstance(node, ast.Name):
            uses.setdefault(node.id, []).append(node)
            if not isinstance(node.ctx, ast.Load) and not inside:
                stored.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal | ast.Import | ast.ImportFrom):
            barred.update(identifiers(node))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            barred.update(name for name in _own(node) if name)
        within = inside or isinstance(node, Comprehension)
        waiting += [(child, within) for child in ast.iter_child_nodes(node)]
    private = {name for name in stored if name.startswith("__")}
    return OwnNames(frozenset(stored - barred - private), uses)


def _own(node: ast.AST) -> tuple[str | None, ...]:
    return tuple(getattr(node, name, None) for name in ("name", "rest"))


def looks_inside(tree: ast.AST) -> str | None:
    """Return the first name by which a program may look at its own variables, or None."""
    return next((name for name in identifiers(tree) if name in _LOOKS_INSIDE), None)


class _Renaming:
    """Compares two trees that may differ in the names of local variables alone."""

    def __init__(self, old: ast.Module, new: ast.Module) -> None:
        self._old, self._new = old, new
        self._pairs: dict[int, tuple[ast.Name, ast.Name]] = {}

    def check(self) -> None:
        self._same_shape()
        renamed = {one.id for one, other in self._pairs.values() if one.id != other.id}
        if not renamed:
            raise _Differs("no name was changed")
        if (name := looks_inside(self._old)) is not None:
            raise _Differs(f"the program may look at its own variables ('{name}')")
        taken = {*identifiers(self._old), *dir(builtins)}
        explained: set[int] = set()
        for function in ast.walk(self._old):
            if isinstance(function, Function):
                explained |= self._function(function, taken)
        for key, (one, other) in self._pairs.items():
            if one.id != other.id and key not in explained:
                raise _Differs(
                    f"line {_line(one)}: '{one.id}' became '{other.id}', and is no local variable of its own"
                )

    def _same_shape(self) -> None:
        waiting: list[tuple[object, object, ast.AST]] = [(self._old, self._new, self._old)]
        while waiting:
            old, new, parent = waiting.pop()
            if isinstance(old, ast.Name) and isinstance(new, ast.Name):
                self._pairs[id(old)] = (old, new)
                waiting.append((old.ctx, new.ctx, old))
            elif isinstance(old, ast.AST) and isinstance(new, ast.AST) and type(old) is type(new):
                waiting += [(getattr(old, name, None), getattr(new, name, None), old) for name in old._fields]
            elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
                waiting += [(one, other, parent) for one, other in zip(old, new, strict=True)]
            elif old != new or type(old) is not type(new):
                raise _Differs(f"line {_line(parent)}: more than names differ")

    def _function(self, function: Function, taken: set[str]) -> set[int]:
        """Return the changed names that this function's renaming explains."""
        names = own_names(function)
        explained: set[int] = set()
        becomes: dict[str, str] = {}
        for name, uses in names.uses.items():
            now = {self._pairs[id(use)][1].id for use in uses}
            if now == {name} or name not in names.plain:
                continue
            if len(now) > 1:
                raise _Differs(f"'{name}' became {' and '.join(sorted(map(repr, now)))}")
            becomes[name] = now.pop()
            explained.update(id(use) for use in uses)
        for name, new in becomes.items():
            if new in taken:
                raise _Differs(f"'{name}' became '{new}', which means something else already")
        if len(set(becomes.values())) < len(becomes):
            raise _Differs("two variables became one")
        return explained


def _line(node: object) -> int:
    return getattr(node, "lineno", 1)


def _name(node: ast.AST) -> str:
    return type(node).__name__


def _shown(statement: ast.stmt) -> str:
    return repr(ast.unparse(statement)[:60])
