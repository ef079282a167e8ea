"""What the local names of a JavaScript or TypeScript program mean: scopes, hoisted names, patterns, shorthands.

Names of functions, classes, modules and types stay (a function can be asked for its name), and so does a name whose value
is a function or class without one of its own, what is exported or imported, parameters that are properties, and parameters
where `arguments` is read. A program with `eval` or `with` is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from voirdire.edits._inject_names import SHORTHANDS, Binding, Resolved
from voirdire.edits._inject_trees import Node, Program, ancestors, nodes, text_of

_FUNCTIONS = frozenset(
    {
        *(
            "function_declaration",
            "generator_function_declaration",
            "function_expression",
            "generator_function",
        ),
        *("arrow_function", "method_definition", "function_signature", "method_signature", "function_type"),
        *("abstract_method_signature", "constructor_type", "call_signature", "construct_signature"),
    }
)
_BODILESS = frozenset(
    {
        *("function_signature", "method_signature", "function_type", "abstract_method_signature"),
        *("constructor_type", "call_signature", "construct_signature"),
    }
)
_BLOCKS = frozenset(
    {
        "statement_block",
        "for_statement",
        "for_in_statement",
        "switch_body",
        "catch_clause",
        "class_static_block",
    }
)
_CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class"})
_NAMED = frozenset({*_CLASSES, "enum_declaration", "internal_module", "module"})
_NAMELESS_VALUES = frozenset(
    {"function_expression", "generator_function", "arrow_function", "class", "parenthesized_expression"}
)
_CONSTANT_PARENTS = frozenset(
    {
        *("export_specifier", "import_specifier", "index_signature", "namespace_export", "enum_assignment"),
        *("import_attribute", "import_require_clause", "import_alias"),
    }
)
_JSX = frozenset(
    {"jsx_opening_element", "jsx_closing_element", "jsx_self_closing_element", "jsx_namespace_name"}
)
_RESERVED = frozenset({"arguments", "eval", "undefined", "async", "await", "let", "of", "yield", "static"})


@dataclass(eq=False)
class _Scope:
    outer: "_Scope | None"
    is_function: bool = False
    names: dict[str, Binding] = field(default_factory=dict)
    parameters: frozenset[str] = frozenset()

    def function(self) -> "_Scope":
        """The scope to which `var` belongs."""
        scope = self
        while not scope.is_function and scope.outer is not None:
            scope = scope.outer
        return scope

    def find(self, name: str) -> Binding | None:
        """The binding of a name; None: it is not the program's own, or not seen as such."""
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


def resolve(program: Program) -> Resolved:
    """Return the bindings of all names."""
    found = Resolved()
    if next(nodes(program.root, "with_statement"), None) is not None:
        found.refused = "'with' makes names unclear"
    elif any(node.text == b"eval" for node in nodes(program.root, "identifier")):
        found.refused = "'eval' makes names unclear"
    else:
        reader = _Reader(found)
        reader.declare_in(program.root, _Scope(None))
        reader.use_all()
    return found


class _Reader:
    def __init__(self, found: Resolved) -> None:
        self._found = found
        self._leaves: list[tuple[Node, _Scope]] = []

    # --- declarations -------------------------------------------------------------------------------

    def declare_in(self, node: Node, scope: _Scope) -> None:
        """Make the scopes of a node and what is declared in them; keep each name for later with its scope."""
        if node.type in _FUNCTIONS:
            scope = self._function(node, scope)
        elif node.type in _NAMED:
            scope = self._named(node, scope)
        elif node.type in _BLOCKS and node.parent.type not in _FUNCTIONS:
            own_vars = node.type == "class_static_block" or node.parent.type in ("internal_module", "module")
            scope = _Scope(scope, is_function=own_vars)
        self._declarations(node, scope)
        if node.type in ("identifier", *SHORTHANDS):
            self._leaves.append((node, scope))
        for child in node.children:
            self.declare_in(child, scope)

    def _declarations(self, node: Node, scope: _Scope) -> None:
        if node.type in ("lexical_declaration", "variable_declaration"):
            home = scope if node.type == "lexical_declaration" else scope.function()
            for declarator in node.named_children:
                if declarator.type == "variable_declarator":
                    self._declare(declarator.child_by_field_name("name"), home)
        elif node.type == "for_in_statement" and node.child_by_field_name("kind") is not None:
            is_var = node.child_by_field_name("kind").text == b"var"
            self._declare(node.child_by_field_name("left"), scope.function() if is_var else scope)
        elif node.type == "catch_clause" and node.child_by_field_name("parameter") is not None:
            self._declare(node.child_by_field_name("parameter"), scope)
        elif node.type in ("import_clause", "namespace_import", "import_specifier", "import_require_clause"):
            for child in node.named_children:
                if child.type == "identifier":
                    self._bind(child, scope, "imported")

    def _function(self, node: Node, scope: _Scope) -> _Scope:
        inner = _Scope(scope, is_function=True)
        name = node.child_by_field_name("name")
        if name is not None and name.type == "identifier":
            declared = node.type in (
                "function_declaration",
                "generator_function_declaration",
                "function_signature",
            )
            self._bind(name, scope if declared else inner, "name of a function")
        fixed = "no function with a body" if node.type in _BODILESS else _fixed_parameters(node)
        for parameters in _parameters(node):
            for pattern in [parameters] if parameters.type == "identifier" else parameters.named_children:
                modified = any(child.type.endswith(("modifier", "readonly")) for child in pattern.children)
                self._declare(pattern, inner, "a property" if modified else fixed)
        leaves = (leaf for part in _parameters(node) for leaf in nodes(part, "identifier", *SHORTHANDS))
        inner.parameters = frozenset(map(text_of, leaves)) - set(inner.names)
        return inner

    def _named(self, node: Node, scope: _Scope) -> _Scope:
        name = node.child_by_field_name("name")
        home = _Scope(scope) if node.type == "class" else scope
        if name is not None and name.type in ("identifier", "type_identifier"):
            self._bind(name, home, "name of a class, type or module")
        return home

    def _declare(self, pattern: Node, scope: _Scope, fixed: str = "") -> None:
        for leaf in _bound(pattern):
            self._bind(leaf, scope, fixed)

    def _bind(self, leaf: Node, scope: _Scope, fixed: str) -> None:
        name = text_of(leaf)
        if not fixed:
            fixed = _fixed(leaf, scope, name)
        binding = scope.names.setdefault(name, self._found.declare(name, fixed))
        binding.fixed = binding.fixed or fixed

    # --- uses ---------------------------------------------------------------------------------------

    def use_all(self) -> None:
        """Find the binding of every name."""
        for leaf, scope in self._leaves:
            binding = scope.find(text_of(leaf))
            if binding is None:
                continue
            if leaf.parent.type in _CONSTANT_PARENTS or _in_jsx_name(leaf):
                binding.fixed = binding.fixed or "exported, or the name of an element"
            elif _gets_nameless_value(leaf):
                binding.fixed = binding.fixed or "names a function or class"
            elif leaf.parent.type == "object_assignment_pattern":
                binding.fixed = binding.fixed or "a key with a default"
            self._found.use(leaf, binding)


def _fixed(leaf: Node, scope: _Scope, name: str) -> str:
    if name in _RESERVED:
        return "a word of the language"
    if not scope.function().is_function:
        return "no function's own"
    if any(node.type in ("internal_module", "module", "ambient_declaration") for node in ancestors(leaf)):
        return "in a module or declaration"
    return "also read by a default of a parameter" if name in scope.function().parameters else ""


def _fixed_parameters(function: Node) -> str:
    reads = any(node.text == b"arguments" for node in nodes(function, "identifier"))
    return "a parameter where 'arguments' is read" if reads else ""


def _parameters(function: Node) -> Iterator[Node]:
    for name in ("parameters", "parameter"):
        found = function.child_by_field_name(name)
        if found is not None:
            yield found


def _bound(pattern: Node) -> Iterator[Node]:
    """Yield the names that a pattern binds."""
    if pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        yield pattern
        return
    inner = {
        "required_parameter": ["pattern"],
        "optional_parameter": ["pattern"],
        "assignment_pattern": ["left"],
        "object_assignment_pattern": ["left"],
        "pair_pattern": ["value"],
    }.get(pattern.type)
    if inner is not None:
        children = [pattern.child_by_field_name(name) for name in inner]
    elif pattern.type in ("object_pattern", "array_pattern", "rest_pattern"):
        children = pattern.named_children
    else:
        return
    for child in children:
        if child is not None:
            yield from _bound(child)


def _in_jsx_name(leaf: Node) -> bool:
    node = leaf
    while node.parent.type in ("member_expression", "nested_identifier", "jsx_namespace_name"):
        node = node.parent
    return node.parent.type in _JSX and node.parent.child_by_field_name("name") == node


def _gets_nameless_value(leaf: Node) -> bool:
    """Whether a function or class without a name is given to a name, which it then takes for its own."""
    parent = leaf.parent
    if parent.type in ("required_parameter", "optional_parameter"):
        target, value = parent.child_by_field_name("pattern"), parent.child_by_field_name("value")
    elif parent.type == "variable_declarator":
        target, value = parent.child_by_field_name("name"), parent.child_by_field_name("value")
    elif parent.type in ("assignment_expression", "assignment_pattern", "augmented_assignment_expression"):
        target, value = parent.child_by_field_name("left"), parent.child_by_field_name("right")
    else:
        return False
    return target == leaf and value is not None and value.type in _NAMELESS_VALUES
