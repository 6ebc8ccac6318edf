"""Small changes to a module, each of which some test should notice."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type, list[type]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_SWAPS = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("fmin", "fmax"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("sin", "cos"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("isnan", "isfinite"),
]
CALLS = dict(_SWAPS) | {b: a for a, b in _SWAPS} | {"ceil": "floor"}
# Calls that are replaced by their argument.
UNWRAPPED = {"abs", "sqrt", "cumsum", "copy", "argsort", "ravel"}


@dataclass(frozen=True)
class Mutant:
    """One change to a module.

    Attributes
    ----------
    module : str
        Name of the module.
    function : str
        The function or class in which the change is; empty at the top.
    lines : tuple of int
        First and last line of the statement.
    before, after : str
        What was changed, and into what.
    code : str
        The whole module with the change.
    """

    module: str
    function: str
    lines: tuple[int, int]
    before: str
    after: str
    code: str

    @property
    def key(self) -> str:
        """A name that stays the same as long as the module does."""
        text = f"{self.module}\n{self.code}".encode()
        return hashlib.sha256(text).hexdigest()[:16]


def mutants(module: str, source: str) -> Iterator[Mutant]:
    """All changes to a module.

    Parameters
    ----------
    module : str
        Its name.
    source : str
        Its text.

    Yields
    ------
    Mutant
        The module with one change. Docstrings, annotations, decorators and the texts
        of error messages are left alone.
    """
    tree = ast.parse(source)
    for site in _sites(tree, "", None):
        old = site.node
        before = ast.unparse(old)
        for new in _variants(old):
            site.put(new)
            after = "" if isinstance(new, ast.Pass) else ast.unparse(new)
            code = ast.unparse(ast.fix_missing_locations(tree))
            yield Mutant(module, site.function, site.lines, before, after, code)
        site.put(old)


@dataclass(frozen=True)
class _Site:
    """A node, and where it hangs."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    function: str
    lines: tuple[int, int]

    def put(self, new: ast.AST) -> None:
        """Replace the node."""
        if self.index is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.index] = new


_LEFT_ALONE = {"annotation", "returns", "decorator_list", "bases", "type_params"}


def _sites(node: ast.AST, function: str, statement: ast.stmt | None) -> Iterator[_Site]:
    """Walk through all nodes that may be changed."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
    for field, value in ast.iter_fields(node):
        if field in _LEFT_ALONE:
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if not isinstance(child, ast.AST) or _is_text(child):
                continue
            inner = child if isinstance(child, ast.stmt) else statement
            if inner is not None:
                # A change of the head of a block is one of its first lines.
                body = getattr(inner, "body", None)
                last = (
                    body[0].lineno - 1 if isinstance(body, list) else inner.end_lineno
                )
                lines = inner.lineno, max(inner.lineno, last or 0)
                yield _Site(child, node, field, index, function, lines)
            if not isinstance(child, ast.Raise):
                yield from _sites(child, function, inner)


def _is_text(node: ast.AST) -> bool:
    """Docstrings, and the dots of a protocol."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    """What a node is replaced by."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=right):
            for other in COMPARISONS[type(op)]:
                yield ast.Compare(left, [other()], right)
        case ast.Compare(left=left, ops=ops, comparators=right):
            for k, op in enumerate(ops):
                other = COMPARISONS[type(op)][0]
                yield ast.Compare(left, [*ops[:k], other(), *ops[k + 1 :]], right)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(OPERATORS[type(op)](), values)
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float(value)):
            yield ast.Constant(2 * value if value else 1.0)
        case ast.Call():
            yield from _calls(node)
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.AugAssign(target=target, op=op, value=value):
            if type(op) in OPERATORS:
                yield ast.AugAssign(target, OPERATORS[type(op)](), value)
            yield ast.Pass()
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Break() | ast.Continue():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Subscript()]):
            yield ast.Pass()


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    """Another function, or none."""
    match node.func:
        case ast.Name(id=name) if name in CALLS:
            yield ast.Call(ast.Name(CALLS[name]), node.args, node.keywords)
        case ast.Attribute(value=value, attr=name) if name in CALLS:
            func = ast.Attribute(value, CALLS[name])
            yield ast.Call(func, node.args, node.keywords)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in UNWRAPPED:
            is_numpy = isinstance(node.func, ast.Name) or (
                isinstance(node.func.value, ast.Name) and node.func.value.id == "np"
            )
            if is_numpy and node.args:
                yield node.args[0]
            elif not is_numpy:
                yield node.func.value
