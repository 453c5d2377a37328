"""The backend that "auto" opens: graphs that one backend refuses are built by the next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from webnnm.backends.base import (
    Backend,
    Binding,
    Constants,
    DeviceTensor,
    Executable,
    MemoryUsage,
    Runner,
    check_binding,
)
from webnnm.backends.recipes import Rebuilt, Recipe
from webnnm.core.arrays import HostArray
from webnnm.core.errors import WebNNMError
from webnnm.graph.node import Graph
from webnnm.graph.scan import Scan
from webnnm.ops.declare.tensors import TensorType

Opening = Callable[[], Awaitable[Backend]]


class AutomaticBackend(Backend):
    """Passes everything on to a backend; moves to the next one if that refuses a graph.

    >>> import asyncio
    >>> from webnnm import backend
    >>> asyncio.run(backend("auto")).name in ("onnxruntime", "numpy")
    True

    A move takes all tensors and graphs along. `others` are the functions that open the backends to
    try, in order; `log` receives a sentence about a move, which is also the backend's `reason`.

    Attributes: `inner`, the backend that currently runs graphs.
    """

    def __init__(
        self, inner: Backend, others: Sequence[Opening], log: Callable[[str], None] | None
    ) -> None:
        super().__init__()
        self.log = log
        self.others = [*others]
        self.tensors_held: dict[Any, DeviceTensor] = {}
        self.recipes: dict[Any, Recipe] = {}
        # The tensors and graphs of this backend, by handle, where the inner one has others.
        self.moved_tensors: dict[Any, DeviceTensor] = {}
        self.moved_graphs: dict[Any, Rebuilt] = {}
        self.uses = 0
        """How often tensors have been written, by the host or by graphs."""
        self.follow(inner, inner.reason)

    def follow(self, inner: Backend, reason: str) -> None:
        """Pass everything on to this backend from now on."""
        self.inner = inner
        self.name, self.device, self.reason = inner.name, inner.device, reason
        self.accelerated = inner.accelerated
        self.rewrites, self.faults = inner.rewrites, inner.faults
        self.dispatch_seconds, self.unpacks = inner.dispatch_seconds, inner.unpacks
        self.max_tensor_bytes, self.budget = inner.max_tensor_bytes, inner.budget
        self.float64, self.on_host = inner.float64, inner.on_host

    @property
    def description(self) -> str:
        """A description of the backend for logs and tables."""
        return self.inner.description

    @property
    def limits(self) -> Mapping[str, Any] | None:
        """WebNN's `opSupportLimits()`, None for other backends."""
        return getattr(self.inner, "limits", None)

    def claim(self, kind: str, *tensors: DeviceTensor) -> None:
        """Record the purpose of some tensors."""
        super().claim(kind, *tensors)
        self.inner.claim(kind, *map(self.tensor_of, tensors))

    async def compile(
        self,
        graph: Graph | Scan,
        *,
        constants: Constants | None = None,
        recompute: bool = False,
    ) -> Executable:
        """Compile a graph, on the next backend if this one refuses it.

        Raises the first refusal if all backends refuse the graph.
        """
        recipe = Recipe(graph, constants, recompute)
        try:
            built = await recipe.build(self.inner, self.moved_tensors)
        except WebNNMError as error:
            if not self.others:
                raise
            built = await self._move(recipe, error)
        executable = replace(built, backend=self)
        if self.others:  # else no move is left, and what a recipe holds can be freed
            self.recipes[executable.handle] = recipe
        return executable

    async def _move(self, recipe: Recipe, refusal: WebNNMError) -> Executable:
        """Move to the first of the other backends that builds a graph, and return the graph.

        Raises `refusal`, and leaves everything as it is, if there is none.
        """
        from webnnm.backends.moving import Source, move

        source = Source(self.tensors_held, self.recipes, self.read, lambda: self.uses)
        target = await move(source, self.others, recipe, refusal)
        for handle, (kind, _) in self._owners.items():
            target.backend.claim(kind, target.tensors[handle])
        refused = self.inner.description
        self.inner.close()
        self.moved_tensors, self.moved_graphs = target.tensors, target.graphs
        if not self.others:
            self.recipes.clear()
        runs = f"{target.backend.description} runs the model"
        self.follow(target.backend, f"{refused} refused a graph: {refusal.message}; {runs}")
        if self.log is not None:
            self.log(self.reason)
        return target.executable

    def tensor_of(self, tensor: DeviceTensor) -> DeviceTensor:
        """Return the tensor of the inner backend."""
        return self.moved_tensors.get(tensor.handle, tensor)

    def _binding(self, binding: Binding) -> Binding:
        return {name: self.tensor_of(tensor) for name, tensor in binding.items()}

    def translate_binding(
        self, executable: Executable, inputs: Binding, outputs: Binding
    ) -> tuple[Executable, Binding, Binding]:
        """Return a graph and its tensors on the inner backend."""
        if not self.moved_tensors and not self.moved_graphs:
            return executable, inputs, outputs
        check_binding(executable, inputs, outputs)
        inner_inputs, inner_outputs = self._binding(inputs), self._binding(outputs)
        rebuilt = self.moved_graphs.get(executable.handle)
        if rebuilt is None:
            return executable, inner_inputs, inner_outputs
        return rebuilt.executable, {**rebuilt.fixed, **inner_inputs}, inner_outputs

    async def tensor(self, type: TensorType, data: HostArray | None = None) -> DeviceTensor:
        """Return a new tensor of the inner backend."""
        tensor = await self.inner.tensor(type, data)
        self.tensors_held[tensor.handle] = tensor
        return tensor

    def write(self, tensor: DeviceTensor, data: HostArray) -> None:
        """Queue a copy of host data to a tensor."""
        self.uses += 1
        self.inner.write(self.tensor_of(tensor), data)

    async def read(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return copies of tensors."""
        return await self.inner.read(*map(self.tensor_of, tensors))

    def read_now(self, *tensors: DeviceTensor) -> list[HostArray]:
        """Return copies of tensors without `await`."""
        return self.inner.read_now(*map(self.tensor_of, tensors))

    def dispatch(self, executable: Executable, inputs: Binding, outputs: Binding) -> None:
        """Queue one run."""
        self.uses += 1
        self.inner.dispatch(*self.translate_binding(executable, inputs, outputs))

    def runner(
        self,
        executable: Executable,
        inputs: Binding,
        outputs: Binding,
        input_names: Sequence[str],
        output_names: Sequence[str],
    ) -> Runner:
        """Bind a graph for many runs, which go on after a move."""
        return _FollowingRunner(self, executable, inputs, outputs, input_names, output_names)

    async def run_steps(
        self,
        executable: Executable,
        buffers: tuple[tuple[Binding, Binding], tuple[Binding, Binding]],
        first: int,
        count: int,
        read: Sequence[tuple[DeviceTensor, DeviceTensor]] = (),
    ) -> list[HostArray]:
        """Run steps, then read."""
        self.uses += 1
        if self.moved_tensors or self.moved_graphs:
            (built, *even), (_, *odd) = (
                self.translate_binding(executable, *buffer) for buffer in buffers
            )
            executable, buffers = built, ((even[0], even[1]), (odd[0], odd[1]))
            read = [(self.tensor_of(a), self.tensor_of(b)) for a, b in read]
        return await self.inner.run_steps(executable, buffers, first, count, read)

    def can_wait(self) -> bool:
        """Return whether `wait` works here and now."""
        return self.inner.can_wait()

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a coroutine of this backend without `await`."""
        return self.inner.wait(work)

    def agree_on(self, seconds: float) -> float:
        """Return a measured time on which all processes agree."""
        return self.inner.agree_on(seconds)

    def release(self, *things: DeviceTensor | Executable) -> None:
        """Free tensors and graphs immediately."""
        own: list[DeviceTensor | Executable] = []
        for thing in things:
            if isinstance(thing, Executable):
                self.recipes.pop(thing.handle, None)
                rebuilt = self.moved_graphs.pop(thing.handle, None)
                own += [rebuilt.executable, *rebuilt.own] if rebuilt else [thing]
            else:
                self.tensors_held.pop(thing.handle, None)
                self._owners.pop(thing.handle, None)
                own.append(self.moved_tensors.pop(thing.handle, thing))
        self.inner.release(*own)

    def memory(self) -> MemoryUsage:
        """Return what is currently allocated."""
        return self.inner.memory()

    def close(self) -> None:
        """Free everything; the backend cannot be used afterwards."""
        for held in (self.tensors_held, self.recipes, self.moved_tensors, self.moved_graphs):
            held.clear()
        self._owners.clear()
        self.others.clear()
        self.inner.close()


class _FollowingRunner(Runner):
    """A runner of the inner backend, made anew after a move."""

    def __init__(
        self,
        backend: AutomaticBackend,
        executable: Executable,
        inputs: Binding,
        outputs: Binding,
        input_names: Sequence[str],
        output_names: Sequence[str],
    ) -> None:
        self._automatic = backend
        self._binding = executable, inputs, outputs
        self._names = input_names, output_names
        self._bind()

    def _bind(self) -> None:
        self._inner = self._automatic.inner
        bound = self._automatic.translate_binding(*self._binding)
        self._runner = self._inner.runner(*bound, *self._names)

    def begin(self, data: Sequence[HostArray]) -> Awaitable[list[HostArray]]:
        """Begin a run."""
        if self._inner is not self._automatic.inner:
            self._bind()
        self._automatic.uses += 1
        return self._runner.begin(data)

    def close(self) -> None:
        """Free what the runner itself holds."""
        if self._inner is self._automatic.inner:
            self._runner.close()
