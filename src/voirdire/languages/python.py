"""Python, by the grammar of the interpreter that runs.

`ast` reads exactly what this interpreter would accept as a file, no older or newer Python. Parsing is not compiling: a
`return` outside a function parses and can still not be run.

Also here: what a program defines at its top level, and the renaming of its one function to the name that tests call.
These read code in this process: give them only code that the gate has let pass.
"""

import ast
import keyword
import re
from collections.abc import Iterator, Sequence

from voirdire.errors import DataError
from voirdire.languages.language import Language

_SKIP = (
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
    skip=re.compile(_SKIP, re.DOTALL),
    keywords=frozenset(keyword.kwlist) | {"match", "case", "type"},
    line_comment="#",
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | _Comprehension
_DEF = re.compile(r"(?:async\s+)?def\s+")


def tree_of(code: str) -> ast.Module:
    """Return the syntax tree; DataError where the code does not parse."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"the code does not parse: {error}", hint="put the gate before it") from None


def defined_functions(code: str) -> tuple[str, ...]:
    """Return the names of the functions defined at the top level, each once, in order.

    Raises DataError where the code does not parse.
    """
    return tuple(dict.fromkeys(node.name for node in _top_level(tree_of(code))))


def defines(code: str, name: str) -> bool:
    """Whether a program gives `name` a meaning at its top level: a function, a class, an import or an assignment."""
    return name in _bound(tree_of(code).body)


def lone_function(code: str, entry_point: str) -> str | None:
    """Return the one function at the top level where the tested name is missing; None where it is not so.

    Only then can naming be told from not solving: rename it with `renamed` and run the tests again.
    """
    names = defined_functions(code)
    return names[0] if len(names) == 1 and not defines(code, entry_point) else None


def renamed(code: str, old: str, new: str) -> str:
    """Return the program with its top-level function `old` called `new`: its definition, and what refers to it.

    Names that mean something else (parameters, local variables, attributes, texts) stay. The result is verified: its
    tree is the old one but for these names. Raises DataError where there is no one such function, where `new` is no
    name, or means something in the program already.
    """
    tree = tree_of(code)
    found = [node for node in _top_level(tree) if node.name == old]
    if len(found) != 1:
        raise DataError(
            f"'{old}' is defined {len(found)} times", hint="rename a function that is defined once"
        )
    if not new.isidentifier() or keyword.iskeyword(new):
        raise DataError(f"'{new}' is no name for a function", hint="give the name that the tests call")
    if any(isinstance(node, ast.Name | ast.arg) and _name(node) == new for node in ast.walk(tree)):
        raise DataError(f"'{new}' means something in the program already", hint="it cannot be renamed so")
    uses = [node for node in _references(tree, old) if isinstance(node, ast.Name)]
    lines = code.encode().splitlines(keepends=True)
    places = [_place_of_name(lines, found[0]), *((node.lineno, node.col_offset) for node in uses)]
    text = _replaced(lines, places, old, new)
    _verify(tree, text, found[0], uses, new=new)
    return text


# --- trees ------------------------------------------------------------------------------------------


def _top_level(tree: ast.Module) -> Iterator[Function]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _name(node: ast.Name | ast.arg) -> str:
    return node.id if isinstance(node, ast.Name) else node.arg


def _references(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """Yield the nodes that read or bind `name` at the top level, or read it from within, where nothing hides it."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and node.id == name:
            yield node
        if isinstance(node, _Scope) and name in _hidden_in(node):
            waiting.extend(_seen_from_outside(node))
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _hidden_in(scope: _Scope) -> set[str]:
    """Return the names that mean something of its own within a scope."""
    if isinstance(scope, _Comprehension):
        return _bound([generator.target for generator in scope.generators])
    if isinstance(scope, ast.ClassDef):
        return set()
    arguments = scope.args
    every = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    names = {one.arg for one in every if one is not None}
    if isinstance(scope, ast.Lambda):
        return names
    return (names | _bound(scope.body)) - _declared_global(scope)


def _seen_from_outside(scope: _Scope) -> list[ast.AST]:
    """Return the parts of a scope that are read where it stands: decorators, defaults, annotations, first iterable."""
    if isinstance(scope, _Comprehension):
        return [scope.generators[0].iter]
    if isinstance(scope, ast.ClassDef):
        return []
    parts: list[ast.AST | None] = [*scope.args.defaults, *scope.args.kw_defaults]
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        parts += [*scope.decorator_list, scope.returns]
    return [part for part in parts if part is not None]


def _declared_global(scope: ast.AST) -> set[str]:
    return {name for node in ast.walk(scope) if isinstance(node, ast.Global) for name in node.names}


def _bound(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that these statements or targets bind in their own scope."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        if not isinstance(node, ast.Lambda | _Comprehension):
            waiting.extend(ast.iter_child_nodes(node))
    return found


# --- renaming ---------------------------------------------------------------------------------------


def _place_of_name(lines: Sequence[bytes], node: Function) -> tuple[int, int]:
    """Return line and byte of the name in a definition."""
    head = lines[node.lineno - 1][node.col_offset :].decode(errors="replace")
    match = _DEF.match(head)
    if match is None:
        raise DataError(f"the definition of '{node.name}' runs over its line", hint="it cannot be renamed")
    return node.lineno, node.col_offset + len(match[0].encode())


def _replaced(lines: list[bytes], places: Sequence[tuple[int, int]], old: str, new: str) -> str:
    changed = list(lines)
    for line, byte in sorted(set(places), reverse=True):
        text = changed[line - 1]
        changed[line - 1] = text[:byte] + new.encode() + text[byte + len(old.encode()) :]
    return b"".join(changed).decode()


def _verify(tree: ast.Module, text: str, definition: Function, uses: Sequence[ast.Name], *, new: str) -> None:
    definition.name = new
    for node in uses:
        node.id = new
    if ast.dump(tree_of(text)) != ast.dump(tree):
        raise DataError("the renamed program is another one", hint="it cannot be renamed")
