"""Removes from modules what only readers and type checkers need.

Docstrings, comments, annotations, casts, imports and definitions for types only are removed; local
names, and names of a module that begin with an underscore, are shortened. The names of other
classes and functions, of modules, arguments and attributes stay, so that a traceback still shows
what failed, and everything that runs can be imported from where it was.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

from webnnm.core.garbage import pause_garbage_collection

SPEAKING = ("ClassVar", "KW_ONLY", "InitVar", "Required", "NotRequired")
"""The annotations that dataclasses and typed dicts evaluate; all others have no effect."""

TYPE_NODES = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant),
    *(ast.BinOp, ast.BitOr, ast.expr_context),
)
"""What the name of a type stands for, such as `Mapping[str, Callable[..., Any]] | None`."""

Anything = TypeVar("Anything", bound=ast.AST)
Function = TypeVar("Function", ast.FunctionDef, ast.AsyncFunctionDef)


@pause_garbage_collection()
def slim_modules(modules: Mapping[str, str]) -> dict[str, str]:
    """Return the sources of a package's modules, by file as given, without what readers need.

    >>> text = '"Doc."\\ndef double(number: int) -> int: return number * 2  # twice'
    >>> slim_modules({"p/a.py": text})
    {'p/a.py': 'def double(number):return number*2'}
    """
    trees = {file: _strip_types(ast.parse(source)) for file, source in modules.items()}
    public_names = {
        (node.module, alias.name)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    _drop_imports(trees, public_names)
    _drop_types(trees.values())
    # What only types needed.
    _drop_imports(trees, public_names)
    shared = {name for _, name in public_names}
    texts = [ast.unparse(tree) for tree in trees.values()]
    # Not forked: other steps of the set-up are running in threads.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        results = pool.map(partial(_minify, shared=shared), texts, chunksize=8)
        return dict(zip(trees, results, strict=True))


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Return what runs with a module: every node below it that is not in a function."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from outside_functions(child)


class _TypeStripper(ast.NodeTransformer):
    """Removes what exists for type checkers."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        # The only feature in use keeps annotations as strings, and none are left.
        return None if node.module == "__future__" else node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        typing = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return node.orelse if typing else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        casts = isinstance(node.func, ast.Name) and node.func.id == "cast"
        return node.args[1] if casts else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._without_annotations(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._without_annotations(node)

    def _without_annotations(self, node: Function) -> Function:
        self.generic_visit(node)
        node.returns = None
        arguments = node.args
        for argument in (
            *arguments.posonlyargs,
            *arguments.args,
            arguments.vararg,
            *arguments.kwonlyargs,
            arguments.kwarg,
        ):
            if argument is not None:
                argument.annotation = None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        for statement in node.body:
            # Dataclasses and named tuples take their fields from them.
            if isinstance(statement, ast.AnnAssign) and not _speaks(statement.annotation):
                statement.annotation = ast.Constant(0)
        self.generic_visit(node)
        if any("dataclass" in ast.unparse(statement) for statement in node.decorator_list):
            # A dataclass without a docstring makes one from its signature, which doubles its time.
            node.body.append(ast.parse('__doc__="."').body[0])
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if isinstance(node.annotation, ast.Constant) or _speaks(node.annotation):
            return node
        if node.value is None:
            return None
        return ast.Assign(targets=[node.target], value=node.value)


def _speaks(annotation: ast.expr) -> bool:
    return any(getattr(node, "id", "") in SPEAKING for node in ast.walk(annotation))


def _strip_types(tree: Anything) -> Anything:
    _TypeStripper().visit(tree)
    for node in ast.walk(tree):
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # pyrefly: ignore[missing-attribute]
    return ast.fix_missing_locations(tree)


def _drop_types(trees: Iterable[ast.Module]) -> None:
    """Remove protocols and type names that no module mentions, not even in a string."""
    trees = list(trees)
    spoken = Counter(word for tree in trees for word in re.findall(r"\w+", ast.unparse(tree)))
    for tree in trees:
        tree.body = [each for each in tree.body if spoken[_type_defined(each)] != 1]


def _type_defined(statement: ast.stmt) -> str:
    """Return the name that a statement gives to a type that only checkers read, or nothing."""
    match statement:
        case ast.ClassDef(name=name, bases=[*_, ast.Name(id="Protocol")], decorator_list=[]):
            return name
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp() as value
        ) if (
            # Not a constant.
            re.match(r"_?[A-Z]\w*[a-z]", name)
            and all(isinstance(node, TYPE_NODES) for node in ast.walk(value))
        ):
            return name
    return ""


def _drop_imports(trees: Mapping[str, ast.Module], wanted: set[tuple[str | None, str]]) -> None:
    """Remove the imports of names that neither a module nor those that import from it use."""
    for file, tree in trees.items():
        if not file.endswith("__init__.py"):
            _drop_imports_of(tree, file.removesuffix(".py").replace("/", "."), wanted)


def _drop_imports_of(tree: ast.Module, module: str, wanted: set[tuple[str | None, str]]) -> None:
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for block in _blocks(tree):
        for node in list(block):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                node.names = [
                    alias
                    for alias in node.names
                    if (alias.asname or alias.name.partition(".")[0]) in used
                    or (module, alias.asname or alias.name) in wanted
                    or alias.asname == alias.name  # what a module offers as its own
                ]
                if not node.names:
                    block.remove(node)
        if not block:
            block.append(ast.Pass())


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block


@pause_garbage_collection()
def _minify(source: str, shared: Set[str]) -> str:
    """Return a minified module; names that other modules import do not change."""
    import python_minifier

    words = set(re.findall(r"\w+", source))
    spoken = {word for word in words if not word.startswith("_") or word.startswith("__")}

    return python_minifier.minify(
        source,
        remove_annotations=False,
        remove_literal_statements=True,
        combine_imports=False,
        hoist_literals=False,
        rename_locals=True,
        # A name that all methods use compresses better than a short one.
        preserve_locals=["self"],
        rename_globals=True,
        preserve_globals=sorted(spoken | (words & shared)),
        remove_pass=False,
        remove_asserts=False,
    )
