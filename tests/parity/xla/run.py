"""Runs a StableHLO module on XLA's CPU client, open sizes taken from the arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import compiler, xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jaxlib.mlir import ir

jax.config.update("jax_enable_x64", True)

MAIN = re.compile(r"func\.func public @main\((.*?)\) -> \((.*)\) \{")
ARGUMENT = re.compile(r"(%arg\d+): tensor<([^>]*)>")
REFINED = "stablehlo.shape_refinement_operand_wrapper"


class Program:
    """A compiled module.

    Raises whatever MLIR's parser, the verifier or XLA have against it.
    """

    def __init__(self, text: str, shapes: Sequence[Sequence[int]] = ()) -> None:
        context = mlir.make_ir_context()
        with context:
            module = ir.Module.parse(text)
            module.operation.verify()
            if "?" in text:
                module = ir.Module.parse(refining(text, shapes))
                module.operation.verify()
                refined = _jax.mlir.refine_polymorphic_shapes(
                    mlir_module=mlir.module_to_bytecode(module),
                    enable_shape_assertions=True,
                    validate_static_shapes=True,
                    enable_shardy=False,
                )
                module = ir.Module.parse(refined)
            backend = xla_bridge.get_backend("cpu")
            options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
            devices = _jax.DeviceList(tuple(backend.local_devices()[:1]))
            self._compiled = compiler.backend_compile_and_load(
                backend, module, devices, options, []
            )

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the results for these arguments."""
        found = self._compiled.execute_sharded([jnp.asarray(array) for array in arrays])
        return [np.asarray(result[0]) for result in found.disassemble_into_single_device_arrays()]


def run(text: str, arrays: Sequence[Any]) -> list[Any]:
    """Compile a module and run it."""
    return Program(text, [np.shape(array) for array in arrays])(arrays)


def refining(text: str, shapes: Sequence[Sequence[int]]) -> str:
    """Return a module whose arguments have these sizes, as the refinement of shapes wants it."""
    header = MAIN.search(text)
    assert header is not None
    lines: list[str] = []
    arguments = header[1]
    for (name, inner), shape in zip(ARGUMENT.findall(header[1]), shapes, strict=True):
        if "?" not in inner:
            continue
        fixed = "x".join([*map(str, shape), inner.split("x")[-1]])
        sizes = f"{name}_sizes"
        kind = f"tensor<{len(shape)}xi64>"
        listed = ", ".join(map(str, shape))
        lines += [
            f"    {sizes} = stablehlo.constant dense<[{listed}]> : {kind}",
            f"    {name} = stablehlo.custom_call @{REFINED}({name}_fixed, {sizes}) "
            "{indices_of_shape_operands = dense<1> : tensor<1xi64>} : "
            f"(tensor<{fixed}>, {kind}) -> tensor<{inner}>",
        ]
        arguments = arguments.replace(f"{name}: tensor<{inner}>", f"{name}_fixed: tensor<{fixed}>")
    start = header[0].replace(header[1], arguments, 1)
    return text.replace(header[0], "\n".join([start, *lines]), 1)
