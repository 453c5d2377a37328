"""ONNX Runtime Web behind the bridge: the functions that the backend calls, without Python."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from webnnm.formats.onnx.messages import (
    DimensionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TensorShapeProto,
    TensorTypeProto,
    TypeProto,
    ValueInfoProto,
)
from webnnm.formats.onnx.writer import serialize

START = """
async ({ provider, model }) => {
  const bridge = await import("/vendor/webnnm/webnn/bridge.js");
  const { open } = await import("/vendor/webnnm/onnxruntime/onnxruntime.js");
  const told = [];
  const options = { provider, folder: "/vendor/onnxruntime/" };
  const context = bridge.adopt(await open(JSON.stringify(options), (...sizes) => told.push(sizes)));
  const bytes = Uint8Array.from(model);
  const floats = (data) => [...new Float32Array(data.slice().buffer)];
  const tensor = (type, shape, data) => bridge.tensor(context, type, JSON.stringify(shape), data);
"""


def counter() -> bytes:
    """Return a model that adds one to a vector of float32 and to a number of int32."""

    def value(name: str, code: int, *sizes: int) -> ValueInfoProto:
        shape = TensorShapeProto([DimensionProto(size) for size in sizes])
        return ValueInfoProto(name, TypeProto(tensor_type=TensorTypeProto(code, shape)))

    graph = GraphProto(
        name="counter",
        node=[NodeProto(["x", "one"], ["x'"], op_type="Add"),
              NodeProto(["n", "1"], ["n'"], op_type="Add")],
        initializer=[TensorProto([], 1, float_data=[1.0], name="one"),
                     TensorProto([], 6, int32_data=[1], name="1")],
        input=[value("x", 1, 3), value("n", 6)],
        output=[value("x'", 1, 3), value("n'", 6)],
    )  # fmt: skip
    return serialize(ModelProto(8, graph=graph, opset_import=[OperatorSetIdProto("", 17)]))


async def run(page: Page, site_url: str, program: str, project: Any) -> Any:
    await page.goto(f"{site_url}/tests/empty.html")
    given = {"provider": "webgpu" if project.webgpu else "wasm", "model": list(counter())}
    return await page.evaluate(f"{START}{program}}}", given)


@pytest.mark.projects("no-webnn", "webgpu")
async def test_steps_alternate_between_the_buffers(page: Page, site_url: str, project: Any) -> None:
    program = """
    const graph = await bridge.load(context, bytes);
    const x = [await tensor("float32", [3], new Uint8Array(new Float32Array([5, 6, 7]).buffer)),
      await tensor("float32", [3])];
    const n = [await tensor("int32", []), await tensor("int32", [])];
    const before = bridge.memory(context);
    const buffers = [0, 1].map((k) => [
      { x: x[k], n: n[k] }, { "x'": x[1 - k], "n'": n[1 - k] }]);
    const reads = [[x[1], x[0]], [n[1], n[0]]];
    const run = async (first, count) => {
      const found = await bridge.steps(
        graph, JSON.stringify(buffers), first, count, JSON.stringify(reads), first);
      return [floats(found.slice(0, 12)), ...new Int32Array(found.slice(12).buffer)];
    };
    const found = [await run(0, 1), await run(1, 100)];
    const same = bridge.memory(context) === before;
    bridge.close(context);
    return { found, same, before: JSON.parse(before), after: JSON.parse(bridge.memory(context)) };
    """
    answer = await run(page, site_url, program, project)
    assert answer["found"] == [[[6, 7, 8], 1], [[106, 107, 108], 101]]
    assert answer["same"]
    assert answer["before"]["graphs"] == 1 and answer["before"]["tensors"] == 4
    assert answer["after"] == {"graphs": 0, "tensors": 0, "bytes": 0}


@pytest.mark.projects("no-webnn", "webgpu")
async def test_writes_wait_for_the_runs_before_them(
    page: Page, site_url: str, project: Any
) -> None:
    program = """
    const graph = await bridge.load(context, bytes);
    const data = new Uint8Array(new Float32Array([1, 2, 3]).buffer);
    const [x, y, n, m] = [await tensor("float32", [3]), await tensor("float32", [3]),
      await tensor("int32", []), await tensor("int32", [])];
    bridge.write(x, data);
    bridge.dispatch(graph, JSON.stringify([{ x, n }, { "x'": y, "n'": m }]));
    data.fill(0);
    bridge.write(x, data);
    const found = [floats(await bridge.read(y)), floats(await bridge.read(x))];
    bridge.release(x, y, n, m, graph);
    return found;
    """
    assert await run(page, site_url, program, project) == [[2, 3, 4], [0, 0, 0]]


@pytest.mark.projects("no-webnn")
async def test_the_page_gets_its_turn_during_steps(page: Page, site_url: str, project: Any) -> None:
    program = """
    const graph = await bridge.load(context, bytes);
    const x = [await tensor("float32", [3]), await tensor("float32", [3])];
    const n = [await tensor("int32", []), await tensor("int32", [])];
    const buffers = [0, 1].map((k) => [
      { x: x[k], n: n[k] }, { "x'": x[1 - k], "n'": n[1 - k] }]);
    let turns = 0;
    let going = true;
    const turn = () => {
      turns += 1;
      if (going) setTimeout(turn, 0);
    };
    setTimeout(turn, 0);
    const read = JSON.stringify([[n[1], n[0]]]);
    const found = await bridge.steps(graph, JSON.stringify(buffers), 0, 30000, read, 1);
    going = false;
    return [...new Int32Array(found.buffer), turns > 0];
    """
    assert await run(page, site_url, program, project) == [30000, True]


@pytest.mark.projects("no-webnn")
async def test_an_instance_that_ended_is_told_as_a_loss_and_replaced(
    page: Page, site_url: str, project: Any
) -> None:
    program = """
    const ended = await open(JSON.stringify(options));
    const handle = bridge.adopt(ended);
    ended.wasm._OrtCreateSession = () => { throw new WebAssembly.RuntimeError("unreachable"); };
    let name = null;
    try { await bridge.load(handle, bytes); } catch (error) { name = error.name; }
    bridge.close(handle);
    const next = await open(JSON.stringify(options));
    const graph = await bridge.load(bridge.adopt(next), bytes);
    return [name, next.wasm !== ended.wasm, graph > 0];
    """
    assert await run(page, site_url, program, project) == ["ContextLost", True, True]


@pytest.mark.projects("no-webnn")
async def test_the_page_hears_of_the_download_once(page: Page, site_url: str, project: Any) -> None:
    program = """
    const second = [];
    await open(JSON.stringify(options), (...sizes) => second.push(sizes));
    return { last: told.at(-1), second };
    """
    answer = await run(page, site_url, program, project)
    received, everything = answer["last"]
    assert received > 10_000_000
    assert everything == 0  # the server sends it compressed: nobody knows how much there will be
    assert answer["second"] == []


@pytest.mark.projects("no-webnn")
@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("await bridge.load(context, bytes.slice(0, 50));", "BuildError"),
        ('await open(JSON.stringify({ ...options, provider: "npu" }));', "NotAvailable"),
        ('await open(JSON.stringify({ ...options, folder: "/nowhere/" }));', "NotAvailable"),
        ('await open(JSON.stringify({ ...options, provider: "webgpu" }));', "NotAvailable"),
        (
            "const graph = await bridge.load(context, bytes);"
            'const [x, y, n] = await Promise.all([tensor("int32", [3]), tensor("float32", [3]),'
            ' tensor("int32", [])]);'
            'bridge.dispatch(graph, JSON.stringify([{ x, n }, { "x\'": y, "n\'": n }]));'
            "await bridge.read(y);",
            "DeviceError",
        ),
    ],
)
async def test_failures_have_names(
    page: Page, site_url: str, project: Any, program: str, name: str
) -> None:
    caught = f"try {{ {program} }} catch (error) {{ return error.name; }}"
    assert await run(page, site_url, caught, project) == name
