"""What the local names of a Go program mean: blocks, short declarations, the names of parameters and results.

Names of packages, functions, types and fields stay, and so does a name that is also a key of a composite literal (which
may be a field), also a type, or a parameter of a function without a body. A program that imports C is refused.
"""

from voirdire.edits._inject_names import Binding, Resolved
from voirdire.edits._inject_trees import Node, Program, nodes, text_of

_SCOPES = frozenset(
    {
        *("block", "if_statement", "for_statement", "expression_switch_statement", "type_switch_statement"),
        *("select_statement", "expression_case", "type_case", "default_case", "communication_case"),
    }
)
_FUNCTIONS = frozenset({"function_declaration", "method_declaration", "func_literal"})
_SIGNATURES = frozenset({"function_type", "method_elem", "method_spec"})

Scopes = tuple[dict[str, Binding], ...]
"""Names by scope, the innermost last; none: the package."""


def resolve(program: Program) -> Resolved:
    """Return the bindings of all local names."""
    found = Resolved()
    if any(text_of(spec).strip() == '"C"' for spec in nodes(program.root, "import_spec")):
        found.refused = "cgo makes names unclear"
        return found
    types = frozenset(text_of(node) for node in nodes(program.root, "type_identifier"))
    _Reader(found, types).visit(program.root, ())
    return found


class _Reader:
    def __init__(self, found: Resolved, types: frozenset[str]) -> None:
        self._found = found
        self._types = types

    def visit(self, node: Node, scopes: Scopes) -> None:
        """Note the names within a node, in the order in which they come to be."""
        kind = node.type
        if kind in _FUNCTIONS or kind in _SIGNATURES:
            self._function(node, scopes)
        elif kind in ("short_var_declaration", "range_clause", "receive_statement"):
            self._assigned(node, scopes)
        elif kind in ("var_spec", "const_spec"):
            self._specified(node, scopes)
        elif kind == "type_switch_statement":
            self._type_switch(node, (*scopes, {}))
        elif kind == "keyed_element":
            self._keyed(node, scopes)
        elif kind == "identifier":
            self._use(node, scopes)
        else:
            inside = (*scopes, {}) if kind in _SCOPES else scopes
            for child in node.children:
                self.visit(child, inside)

    def _function(self, node: Node, scopes: Scopes) -> None:
        inside = (*scopes, {})
        body = node.child_by_field_name("body")
        fixed = "" if body is not None else "no function with a body"
        for declaration in _parameters(node):
            generic = declaration.type == "type_parameter_declaration"
            for child in declaration.children:
                if child.type != "identifier":
                    self.visit(child, inside)
            for name in declaration.children_by_field_name("name"):
                self._declare(name, inside, "a type" if generic else fixed)
        result = node.child_by_field_name("result")
        if result is not None and result.type != "parameter_list":
            self.visit(result, inside)
        for child in body.children if body is not None else []:
            self.visit(child, inside)

    def _assigned(self, node: Node, scopes: Scopes) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        self.visit(right, scopes)
        if left is None:
            return
        if any(child.type == ":=" for child in node.children):
            for name in left.named_children:
                if name.type == "identifier":
                    self._declare(name, scopes)
        else:
            self.visit(left, scopes)

    def _specified(self, node: Node, scopes: Scopes) -> None:
        names = node.children_by_field_name("name")
        at = {name.start_byte for name in names}
        for child in node.children:
            if child.start_byte not in at:
                self.visit(child, scopes)
        for name in names:
            self._declare(name, scopes)

    def _type_switch(self, node: Node, scopes: Scopes) -> None:
        alias = node.child_by_field_name("alias")
        names = [] if alias is None else list(alias.named_children)
        ahead = [
            child
            for child in node.children
            if child.type not in ("type_case", "default_case") and child != alias
        ]
        for child in ahead:
            self.visit(child, scopes)
        for name in names:
            self._declare(name, scopes)
        for child in node.children:
            if child.type in ("type_case", "default_case"):
                self.visit(child, scopes)

    def _keyed(self, node: Node, scopes: Scopes) -> None:
        key, *rest = node.named_children
        if len(key.named_children) == 1 and key.named_children[0].type == "identifier":
            binding = _find(text_of(key), scopes)
            if binding is not None:
                binding.fixed = "also a key of a literal"
                self._found.use(key.named_children[0], binding)
        else:
            self.visit(key, scopes)
        for child in rest:
            self.visit(child, scopes)

    def _declare(self, node: Node, scopes: Scopes, fixed: str = "") -> None:
        name = text_of(node)
        if name == "_" or not scopes:
            return
        fixed = fixed or ("also a type" if name in self._types else "")
        if name not in scopes[-1]:
            scopes[-1][name] = self._found.declare(name, fixed)
        self._found.use(node, scopes[-1][name])

    def _use(self, node: Node, scopes: Scopes) -> None:
        binding = _find(text_of(node), scopes)
        if binding is not None:
            self._found.use(node, binding)


def _find(name: str, scopes: Scopes) -> Binding | None:
    return next((scope[name] for scope in reversed(scopes) if name in scope), None)


def _parameters(function: Node) -> list[Node]:
    """Return the declarations of receiver, type parameters, parameters and results."""
    found: list[Node] = []
    for field in ("receiver", "type_parameters", "parameters", "result"):
        holder = function.child_by_field_name(field)
        if holder is not None and holder.type in ("parameter_list", "type_parameter_list"):
            found += [child for child in holder.named_children if child.type.endswith("declaration")]
    return found
