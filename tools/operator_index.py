"""Writes the index of operators: the module of each, so that only those in use are imported."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from tools.common import ROOT
from webnnm import ops
from webnnm.cli.operator_facts import module_of
from webnnm.core.naming import snake_case
from webnnm.ops.declare.operator import Composite, Operator
from webnnm.ops.index import MODULES

PAGE = ROOT / "webnnm" / "ops" / "index.py"
HEAD = '''"""Where each operator is declared. Written by `make documents`."""

from __future__ import annotations

MODULES = {
'''
TAIL = '''}
"""The snake_case name of an operator → the module of webnnm.ops that declares it."""
'''


def page() -> str:
    """Return the text of the index for the current modules.

    The index of this process becomes the same, so that other documents are written from it.
    """
    modules = find_modules()
    MODULES.clear()
    MODULES.update(modules)
    ops.registry.cache_clear()
    return HEAD + "".join(f'    "{n}": "{modules[n]}",\n' for n in sorted(modules)) + TAIL


def find_modules() -> dict[str, str]:
    """Return the module of every operator, from the files of webnnm.ops alone."""
    names = [module.name for module in pkgutil.iter_modules(ops.__path__)]
    values = [v for name in names for v in vars(import_module(f"webnnm.ops.{name}")).values()]
    operators = {id(v): v for v in values if isinstance(v, (Operator, Composite))}.values()
    return {
        snake_case(name): module_of(operator)
        for operator in operators
        for name in (operator.name, *operator.aliases)
    }
