"""The sandbox in which chat templates run: Jinja's, where every operation has a bound.

A template is parsed by Jinja, and changed before it is compiled: whatever loops, compares, joins or
writes first asks the budget.
"""

from __future__ import annotations

import importlib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from webnnm.transformers.template_limits import MAX_DEPTH, NODE, STEP, Budget, TooMuch

jinja2: Any = importlib.import_module("jinja2")
ext: Any = importlib.import_module("jinja2.ext")
nodes: Any = jinja2.nodes
runtime: Any = jinja2.runtime
sandbox: Any = importlib.import_module("jinja2.sandbox")
utils: Any = jinja2.utils
visitor: Any = importlib.import_module("jinja2.visitor")

FILTERS = frozenset(
    [
        "abs",
        "batch",
        "capitalize",
        "center",
        "count",
        "d",
        "default",
        "dictsort",
        "e",
        "escape",
        "filesizeformat",
        "first",
        "float",
        "format",
        "groupby",
        "indent",
        "int",
        "items",
        "join",
        "last",
        "length",
        "list",
        "lower",
        "map",
        "max",
        "min",
        "reject",
        "rejectattr",
        "replace",
        "reverse",
        "round",
        "safe",
        "select",
        "selectattr",
        "slice",
        "sort",
        "string",
        "sum",
        "title",
        "trim",
        "truncate",
        "unique",
        "upper",
        "urlencode",
        "wordcount",
        "wordwrap",
    ]
)
"""The filters of Jinja that templates can use, besides `tojson`."""
METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        [
            "capitalize",
            "casefold",
            "center",
            "count",
            "endswith",
            "expandtabs",
            "find",
            "format",
            "index",
            "isalnum",
            "isalpha",
            "isascii",
            "isdecimal",
            "isdigit",
            "isidentifier",
            "islower",
            "isnumeric",
            "isprintable",
            "isspace",
            "istitle",
            "isupper",
            "join",
            "ljust",
            "lower",
            "lstrip",
            "partition",
            "removeprefix",
            "removesuffix",
            "replace",
            "rfind",
            "rindex",
            "rjust",
            "rpartition",
            "rsplit",
            "rstrip",
            "split",
            "splitlines",
            "startswith",
            "strip",
            "swapcase",
            "title",
            "upper",
            "zfill",
        ]
    ),
    dict: frozenset(("get", "items", "keys", "values", "copy")),
    list: frozenset(("count", "index", "copy")),
    tuple: frozenset(("count", "index")),
}
"""The methods of values that templates can call."""
REFUSED = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.EvalContextModifier)
RUNTIME = (runtime.LoopContext, runtime.Macro, utils.Namespace, utils.Cycler, utils.Joiner)
"""Objects of Jinja whose public attributes are safe."""
OPERATORS = frozenset(("+", "-", "*", "/", "//", "%", "**"))


class Refusal(Exception):
    """What `raise_exception` of a template raises."""


class Compiled:
    """A template that is ready to be rendered."""

    def __init__(self, source: str) -> None:
        environment: Any = Sandbox()
        guarding: Any = Guarding(environment)
        tree: Any = guarding.visit(environment.parse(source))
        self._environment = environment
        self._template = jinja2.Template.from_code(
            environment,
            environment.compile(tree),
            environment.make_globals(None),
        )

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text of a template for the values of its variables."""
        self._environment.budget = Budget([*values.values()])
        return "".join(self._template.root_render_func(self._template.new_context(dict(values))))


@lru_cache(maxsize=8)
def compile_template(source: str) -> Compiled:
    """Return a template; raises what Jinja raises for one that is wrong."""
    return Compiled(source)


class Generation(ext.Extension):
    """The tag `generation`, which marks what a model writes, and changes nothing."""

    tags = frozenset({"generation"})

    def parse(self, parser: Any) -> Any:
        """Return what the tag contains."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class Method:
    """A method of a value, which asks the budget before it runs."""

    def __init__(self, sandbox: Any, value: Any, name: str) -> None:
        self._sandbox, self._value, self._name = sandbox, value, name

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Charge for the call, and return its result."""
        self._sandbox.budget.method(self._value, self._name, arguments, options)
        method = getattr(self._value, self._name)
        if self._name == "format":
            method = self._sandbox.wrap_str_format(method)
        return self._sandbox.budget.create(method(*arguments, **options))


class Sandbox(sandbox.ImmutableSandboxedEnvironment):
    """The environment of one template."""

    intercepted_binops = OPERATORS

    def __init__(self: Any) -> None:
        sandbox.ImmutableSandboxedEnvironment.__init__(
            self,
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,  # constants would be computed without a budget
            extensions=[Generation, ext.loopcontrols],
            finalize=GUARDS["webnnm_write"],
        )
        self.budget = Budget(None)
        self.macros = dict[str, int]()
        allowed = {name: function for name, function in self.filters.items() if name in FILTERS}
        self.filters: dict[str, Any] = {n: _charging(n, f) for n, f in allowed.items()}
        self.filters |= {"tojson": _charging("tojson", _tojson), **GUARDS}
        functions: dict[str, Any] = {
            "range": self.globals["range"],
            "dict": _dict,
            "cycler": utils.Cycler,
            "joiner": utils.Joiner,
            "namespace": utils.Namespace,
            "raise_exception": _raise_exception,
            "strftime_now": _strftime_now,
        }
        self.globals.clear()
        self.globals.update(functions)

    def _compile(self: Any, source: str, filename: str) -> Any:
        """Return the code of a template; for faults in it Python reads no file of any name."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return compile(source, "", "exec", dont_inherit=True)

    def call(self: Any, context: Any, called: Any, *arguments: Any, **options: Any) -> Any:
        """Call a macro, a method or a function, if templates may."""
        owner = getattr(called, "__self__", None)
        own = any(called is function for function in self.globals.values())
        if (
            not own
            and not isinstance(called, (Method, *RUNTIME))
            and not isinstance(owner, RUNTIME)
        ):
            if isinstance(called, jinja2.Undefined):
                return called()
            name = repr(called[:60]) if isinstance(called, str) else type(called).__name__
            raise TooMuch(f"it calls {name}, which a template cannot")
        budget: Budget = self.budget
        nodes_inside = self.macros.get(called.name, 0) if isinstance(called, runtime.Macro) else 0
        budget.charge(STEP + NODE * nodes_inside)
        if not isinstance(called, Method):
            budget.read(*arguments, *options.values())
        budget.depth += 1
        if budget.depth > MAX_DEPTH:
            raise TooMuch(f"its macros call each other more than {MAX_DEPTH} deep")
        try:
            return context.call(called, *arguments, **options)
        finally:
            budget.depth -= 1

    def call_binop(self: Any, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute what an operator gives."""
        self.budget.binary(operator, left, right)
        return self.budget.create(
            sandbox.ImmutableSandboxedEnvironment.call_binop(self, context, operator, left, right)
        )

    def getattr(self: Any, obj: Any, attribute: str) -> Any:
        """Return an attribute, or else an item."""
        value = self._attribute(obj, attribute)
        if value is not None:
            return value
        try:
            return obj[attribute]
        except (TypeError, LookupError, AttributeError):
            return self.undefined(obj=obj, name=attribute)

    def getitem(self: Any, obj: Any, argument: Any) -> Any:
        """Return an item, or else an attribute."""
        try:
            return obj[argument]
        except (TypeError, LookupError, AttributeError):
            value = self._attribute(obj, argument) if isinstance(argument, str) else None
            return self.undefined(obj=obj, name=argument) if value is None else value

    def _attribute(self: Any, value: Any, name: str) -> Any:
        """Return an attribute that templates may use, None for another."""
        if isinstance(value, RUNTIME):
            return None if name.startswith("_") else getattr(value, name, None)
        kinds = (names for kind, names in METHODS.items() if isinstance(value, kind))
        return Method(self, value, name) if name in next(kinds, ()) else None


class Guarding(visitor.NodeTransformer):
    """Puts the budget in front of what loops, compares, joins and writes."""

    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox

    def generic_visit(self: Any, node: Any, *rest: Any, **more: Any) -> Any:
        """Change what is inside a node."""
        if isinstance(node, REFUSED):
            raise TooMuch(f"it has the tag {type(node).__name__.lower()}, which a template cannot")
        return visitor.NodeTransformer.generic_visit(self, node, *rest, **more)

    def visit_For(self: Any, node: Any) -> Any:  # noqa: D102
        inside = _count(node)
        node = self.generic_visit(node)
        node.iter = _guard(node.iter, "webnnm_each", nodes.Const(inside))
        return node

    def visit_Macro(self: Any, node: Any) -> Any:  # noqa: D102
        name = getattr(node, "name", "caller")
        self._sandbox.macros[name] = max(self._sandbox.macros.get(name, 0), _count(node))
        return self.generic_visit(node)

    visit_CallBlock = visit_Macro

    def visit_TemplateData(self: Any, node: Any) -> Any:  # noqa: D102
        return _guard(nodes.Const(node.data), "webnnm_read")

    def visit_Compare(self: Any, node: Any) -> Any:  # noqa: D102
        node = self.generic_visit(node)
        node.expr = _guard(node.expr, "webnnm_read")
        for operand in node.ops:
            operand.expr = _guard(operand.expr, "webnnm_read")
        return node

    def visit_Concat(self: Any, node: Any) -> Any:  # noqa: D102
        node = self.generic_visit(node)
        node.nodes = [_guard(part, "webnnm_write") for part in node.nodes]
        return node

    def visit_Test(self: Any, node: Any) -> Any:  # noqa: D102
        node = self.generic_visit(node)
        node.node = _guard(node.node, "webnnm_read") if node.args else node.node
        node.args = [_guard(argument, "webnnm_read") for argument in node.args]
        return node

    def visit_Getitem(self: Any, node: Any) -> Any:  # noqa: D102
        node = self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _guard(node.node, "webnnm_slice")
        elif not isinstance(node.arg, nodes.Const):
            node.arg = _guard(node.arg, "webnnm_read")
        return node

    def visit_Pair(self: Any, node: Any) -> Any:  # noqa: D102
        node = self.generic_visit(node)
        node.key = _guard(node.key, "webnnm_read")
        return node


def _guard(node: Any, name: str, *arguments: Any) -> Any:
    return nodes.Filter(node, name, list(arguments), [], None, None, lineno=node.lineno)


def _count(node: Any) -> int:
    """Return how many nodes are inside one."""
    return sum(1 for _ in node.find_all(nodes.Node))


def _write(context: Any, value: Any) -> Any:
    context.environment.budget.charge(STEP + context.environment.budget.weight(value))
    return value


def _read(context: Any, value: Any) -> Any:
    context.environment.budget.read(value)
    return value


def _slice(context: Any, value: Any) -> Any:
    context.environment.budget.charge(STEP + (8 * len(value) if hasattr(value, "__len__") else 0))
    return value


def _each(context: Any, values: Any, inside: int) -> Iterator[Any]:
    budget = context.environment.budget
    for value in values:
        budget.charge(STEP + NODE * inside)
        yield value


GUARDS: Mapping[str, Any] = {
    f"webnnm_{name}": jinja2.pass_context(function)
    for name, function in (
        ("each", _each),
        ("read", _read),
        ("slice", _slice),
        ("write", _write),
    )
}
"""Filters that are put into templates, and ask the budget."""


def _charging(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that asks the budget, and whose result is complete."""
    passing = str(getattr(function, "jinja_pass_arg", ""))

    def run(context: Any, value: Any, *arguments: Any, **options: Any) -> Any:
        budget = context.environment.budget
        budget.method(value, name, arguments, options)
        lead: list[Any] = []
        if "eval_context" in passing:
            lead = [context.eval_ctx]
        elif "environment" in passing:
            lead = [context.environment]
        elif "context" in passing:
            lead = [context]
        result = function(*lead, value, *arguments, **options)
        if isinstance(result, Iterator):
            items = cast("Iterator[Any]", result)
            result = [item for item in items if budget.charge(STEP) is None]
        return budget.create(result)

    return jinja2.pass_context(run)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise_exception(message: Any = "") -> None:
    raise Refusal(str(message))


def _strftime_now(form: str) -> str:
    if len(form) > 200 or re.search(r"%[^a-zA-Z%]*\d", form):
        raise TooMuch("strftime_now has a long format, or one with widths")
    return datetime.now().strftime(form)


def _dict(*arguments: Any, **options: Any) -> dict[Any, Any]:
    return dict(*arguments, **options)
