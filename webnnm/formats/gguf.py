"""The GGUF format: typed metadata, and tensors that are mostly quantised in blocks.

Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; the layouts of blocks are those
of ggml-quants.c in the same repository. Nothing in a file is executed, and every length is checked
against the bytes that are there.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webnnm.core.arrays import HostArray, has_numpy
from webnnm.core.byte_cursor import AGAIN, Cursor
from webnnm.core.dtypes import byte_length
from webnnm.core.errors import DataError
from webnnm.core.shapes import Shape, count
from webnnm.snapshots.foreign import permute

VERSIONS = (2, 3)
MAX_DIMENSIONS = 4
MAX_NESTING = 4
"""The deepest nesting of arrays; files have one level."""
MAX_STRINGS = 4_000_000
"""How many strings the metadata may hold: each takes some fifty bytes, but eight in the file."""
ALIGNMENT = 32
"""The alignment of tensors in bytes, unless the metadata say otherwise."""

IQ4_VALUES = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
"""The numbers that IQ4_NL and IQ4_XS have instead of the integers from 0 to 15."""

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d"}
"""Formats of numbers, by their types in metadata."""
_BOOLEAN, _TEXT, _ARRAY = 7, 8, 9
_LENGTH = struct.Struct("<Q")
"""The length of a string."""
_WINDOW_BYTES = 1 << 18
"""How much of a list of strings is read at a time."""
_MIN_SIZES = {**{code: struct.calcsize(f) for code, f in _SCALARS.items()}, 7: 1, 8: 8, 9: 12}
"""The least size of a value in bytes."""


Unpack = Callable[[str, memoryview, bytearray, int, int, bool], object]
"""`unpack` of js_bridge/page/blocks.js."""


@dataclass(frozen=True)
class StoredTensor:
    """A tensor as it is stored in a file: the name of its type, its shape, its bytes."""

    code: str
    shape: Shape
    data: memoryview[int] = field(repr=False)

    def check_type(self) -> None:
        """Raise `DataError` NNM806 for a type that this package does not read."""
        if self.code not in READABLE:
            hint = f"quantise the model to one of {', '.join(READABLE)}"
            raise DataError("NNM806", f"tensors of type {self.code} cannot be read", hint=hint)

    def array(self) -> HostArray:
        """Return the numbers as float32; float16 stays as it is.

        Raises `DataError` NNM806 for a type that this package does not read.
        """
        if self.code == "F16":
            return HostArray("float16", self.shape, self.data)
        if self.code == "F32":
            return HostArray("float32", self.shape, self.data)
        if self.code == "BF16":  # the upper halves of float32
            words = bytearray(2 * len(self.data))
            words[2::4], words[3::4] = self.data[0::2], self.data[1::2]
            return HostArray("float32", self.shape, words)
        self.check_type()
        kind = BLOCKS[self.code]
        dequantize = dequantize_with_numpy if has_numpy() else dequantize_in_python
        return HostArray("float32", self.shape, dequantize(self.data, kind))


@dataclass(frozen=True)
class File:
    """The contents of a GGUF file: metadata by key, tensors by name, dimensions as in PyTorch."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, StoredTensor]
    unpack: Unpack | None = field(default=None, repr=False, compare=False)
    """The function of a page that unpacks blocks of the types `IN_PAGES`."""

    @property
    def block_types(self) -> set[str]:
        """The types of the tensors that are stored in blocks."""
        return {tensor.code for tensor in self.tensors.values()} & BLOCKS.keys()

    def rope_order(self, name: str, *, transposed: bool = False) -> HostArray:
        """Return a tensor; query and key projections come in the order of Hugging Face.

        Files of the Llama family store these rows so that the pairs that are rotated together are
        (2i, 2i + 1) of a head; Hugging Face and the notation rotate (i, i + size / 2). A matrix may
        be returned transposed.
        """
        tensor, head = self.tensors[name], self._head_size(name)
        shape = tensor.shape[::-1] if transposed else tensor.shape
        if self.unpack is not None and tensor.code in IN_PAGES:
            values = bytearray(4 * count(shape))
            self.unpack(tensor.code, tensor.data, values, tensor.shape[-1], head, transposed)
            return HostArray("float32", shape, values)
        array = tensor.array()
        if head:
            half = [*range(0, head, 2), *range(1, head, 2)]
            starts = range(0, array.shape[0], head)
            array = array.rows([start + row for start in starts for row in half])
        if transposed:
            size = byte_length(array.dtype, 1)
            array = HostArray(array.dtype, shape, permute(array.shape, array.data, size, (1, 0)))
        return array

    def _head_size(self, name: str) -> int:
        """Return the number of rows of a head, 0 if they are in the order of Hugging Face."""
        shape, heads = self.tensors[name].shape, self._heads(name)
        is_llama = self.metadata.get("general.architecture") == "llama"
        if not is_llama or not heads or not shape or shape[0] % (2 * heads):
            return 0
        return shape[0] // heads

    def _heads(self, name: str) -> int:
        for part, key in (("attn_q.", "head_count"), ("attn_k.", "head_count_kv")):
            if part in name:
                heads = self.metadata.get(f"llama.attention.{key}")
                heads = heads or self.metadata.get("llama.attention.head_count")
                return heads if isinstance(heads, int) and heads > 0 else 0
        return 0


def read(data: Any) -> File:
    """Return the contents of a file, from anything with the buffer protocol; no tensor is copied.

    Raises `DataError` NNM801 for a file that ends early, NNM802 for one that is not a GGUF file of
    a version that this package reads, or that contradicts itself.
    """
    cursor = _Cursor(memoryview(data).cast("B"))
    if bytes(cursor.take(4, "its first word")) != b"GGUF":
        raise invalid("it does not begin with GGUF")
    version = cursor.number("I", "its version")
    if version not in VERSIONS:
        raise invalid(f"its version is {version}; supported are {', '.join(map(str, VERSIONS))}")
    tensor_count, pair_count = (cursor.number("Q", "its counts") for _ in range(2))
    cursor.check(pair_count, 13, "its metadata")
    metadata: dict[str, Any] = {}
    for _ in range(pair_count):
        key = cursor.text("a key")
        if key in metadata:
            raise invalid(f'it has the key "{key[:60]}" twice')
        metadata[key] = cursor.value(cursor.number("I", "a type"), f'"{key[:60]}"')
    cursor.check(tensor_count, 24, "its list of tensors")
    records = [_record(cursor) for _ in range(tensor_count)]
    alignment = metadata.get("general.alignment", ALIGNMENT)
    if not isinstance(alignment, int) or not 0 < alignment <= 1 << 16 or alignment % 8:
        raise invalid(f"its alignment is {str(alignment)[:40]}")
    body = cursor.rest(alignment) if records else memoryview(b"")
    stored: dict[str, StoredTensor] = {}
    for name, shape, code, offset in records:
        if name in stored:
            raise invalid(f'it has the tensor "{name[:60]}" twice')
        stored[name] = _make_tensor(name, shape, code, offset, alignment, body)
    end = 0
    for name, _, _, offset in sorted(records, key=lambda record: record[3]):
        size = len(stored[name].data)
        if size and offset < end:
            raise invalid(f'tensor "{name[:60]}" overlaps the one before')
        end = max(end, offset + size)
    return File(metadata, stored)


def _record(cursor: _Cursor) -> tuple[str, Shape, int, int]:
    name = cursor.text("the name of a tensor")
    where = f'tensor "{name[:60]}"'
    rank = cursor.number("I", where)
    if rank > MAX_DIMENSIONS:
        raise invalid(f"{where} has {rank} dimensions")
    shape = tuple(reversed([cursor.number("Q", where) for _ in range(rank)]))
    return name, shape, cursor.number("I", where), cursor.number("Q", where)


def _make_tensor(
    name: str, shape: Shape, code: int, offset: int, alignment: int, body: memoryview[int]
) -> StoredTensor:
    where = f'tensor "{name[:60]}"'
    type_name = TYPES.get(code, str(code))
    if offset % alignment:
        raise invalid(f"{where} is at offset {offset}, which is not a multiple of {alignment}")
    if type_name not in SIZES:
        return StoredTensor(type_name, shape, body[:0])
    values, size = SIZES[type_name]
    if (shape[-1] if shape else 1) % values:
        raise invalid(
            f"{where} has rows of {shape[-1]} values, but blocks of {type_name} have {values}"
        )
    end = offset + count(shape) // values * size
    if end > len(body):
        raise DataError(
            "NNM801",
            f"the file ends within {where}: {end} bytes of data are announced, {len(body)} are "
            "there",
            hint=AGAIN,
        )
    return StoredTensor(type_name, shape, body[offset:end])


class _Cursor(Cursor):
    """A position in a GGUF file, which reads strings and values."""

    texts = 0

    def text(self, what: str) -> str:
        self.texts += 1
        if self.texts > MAX_STRINGS:
            raise invalid(f"it holds more than {MAX_STRINGS:,} texts")
        begin = self.position + 8
        end = begin + int.from_bytes(self.view[self.position : begin], "little")
        if end > len(self.view):
            self.take(self.number("Q", what), what)  # which says what is missing
        self.position = end
        data = self.view[begin:end]
        try:
            return str(data, "utf-8")
        except UnicodeDecodeError as error:
            raise invalid(f"{what} is not UTF-8: {bytes(data[:20])!r}") from error

    def texts_in_row(self, number: int, what: str) -> list[str]:
        """Return several strings; a vocabulary has a hundred thousand of them."""
        if self.texts + number > MAX_STRINGS:
            raise invalid(f"it holds more than {MAX_STRINGS:,} texts")
        texts: list[str] = []
        while len(texts) < number:
            before, position = len(texts), 0
            # Slices of bytes take half the time of those of a memoryview. Short lists copy little.
            size = min(_WINDOW_BYTES, 64 * (number - before))
            window = bytes(self.view[self.position : self.position + size])
            try:
                while len(texts) < number:
                    begin = position + 8
                    end = begin + _LENGTH.unpack_from(window, position)[0]
                    if end > len(window):
                        break
                    texts.append(window[begin:end].decode())
                    position = end
            except (struct.error, UnicodeDecodeError):
                pass  # the string ends beyond the window, or `text` says what is wrong with it
            self.position += position
            self.texts += len(texts) - before
            if len(texts) < number:
                texts.append(self.text(what))
        return texts

    def value(self, code: int, what: str, depth: int = 0) -> Any:
        if code in _SCALARS:
            return self.number(_SCALARS[code], what)
        if code == _BOOLEAN:
            return self.number("B", what) != 0
        if code == _TEXT:
            return self.text(what)
        if code != _ARRAY:
            raise invalid(f"{what} has the unknown type {code}")
        if depth == MAX_NESTING:
            raise invalid(f"{what} is nested too deeply")
        item, number = self.number("I", what), self.number("Q", what)
        self.check(number, _MIN_SIZES.get(item, 1), what)
        if item in _SCALARS:
            numbers: array[Any] = array(_SCALARS[item])
            numbers.frombytes(self.take(number * numbers.itemsize, what))
            return numbers
        if item == _TEXT:
            return self.texts_in_row(number, what)
        return [self.value(item, what, depth + 1) for _ in range(number)]

    def rest(self, alignment: int) -> memoryview[int]:
        """Return the data of tensors."""
        return self.view[self.position + -self.position % alignment :]


def invalid(reason: str) -> DataError:
    """Return NNM802, the error of a file that is not a valid GGUF file."""
    return DataError(
        "NNM802", f"this is not a GGUF file: {reason}", hint="check what the path leads to"
    )


# Blocks of quantised values. A rule takes the bytes of a block one after the other, as `bytes` of
# one block or as rows of a NumPy array with a column for each block, and yields groups of values:
# scale, least value, integers.

Groups = Iterator[tuple[Any, Any, Any]]


class _Python:
    """Operations on the bytes of one block."""

    LOW = bytes(byte & 15 for byte in range(256))
    HIGH = bytes(byte >> 4 for byte in range(256))

    @staticmethod
    def half(data: Any) -> Any:
        return struct.unpack("<e", data)[0]

    @staticmethod
    def to_int8(data: Any) -> Any:
        return array("b", data)

    @staticmethod
    def low(data: Any) -> Any:
        return data.translate(_Python.LOW)

    @staticmethod
    def high(data: Any) -> Any:
        return data.translate(_Python.HIGH)

    @staticmethod
    def six(fours: Any, pairs: Any, shift: int) -> Any:
        """Return six-bit numbers: four bits come from some bytes, two from others."""
        both = zip(fours, pairs, strict=True)
        return [(four | (pair >> shift & 3) << 4) - 32 for four, pair in both]

    @staticmethod
    def two(data: Any, shift: int) -> Any:
        """Return two bits of each byte."""
        return [byte >> shift & 3 for byte in data]

    @staticmethod
    def with_bit(numbers: Any, data: Any, shift: int, place: int) -> Any:
        """Return numbers with one bit of each of some bytes, at a place of its own."""
        both = zip(numbers, data, strict=True)
        return [number | (byte >> shift & 1) << place for number, byte in both]

    @staticmethod
    def bits(data: Any) -> Any:
        """Return the bits of some bytes, the lowest first."""
        return [byte >> shift & 1 for byte in data for shift in range(8)]

    @staticmethod
    def look_up(fours: Any) -> Any:
        """Return the numbers of a table that is finer around 0."""
        return [IQ4_VALUES[four] for four in fours]


class _NumPy:
    """The same operations on many blocks."""

    @staticmethod
    def half(data: Any) -> Any:
        numpy: Any = sys.modules["numpy"]
        return numpy.ascontiguousarray(data.T).view("<f2").T.astype("float32")[0]

    @staticmethod
    def to_int8(data: Any) -> Any:
        return data.view("int8")

    @staticmethod
    def low(data: Any) -> Any:
        return data & 15

    @staticmethod
    def high(data: Any) -> Any:
        return data >> 4

    @staticmethod
    def six(fours: Any, pairs: Any, shift: int) -> Any:
        return (fours | (pairs >> shift & 3) << 4).view("int8") - 32

    @staticmethod
    def two(data: Any, shift: int) -> Any:
        return data >> shift & 3

    @staticmethod
    def with_bit(numbers: Any, data: Any, shift: int, place: int) -> Any:
        return numbers | (data >> shift & 1) << place

    @staticmethod
    def bits(data: Any) -> Any:
        numpy: Any = sys.modules["numpy"]
        return numpy.unpackbits(data, axis=0, bitorder="little")

    @staticmethod
    def look_up(fours: Any) -> Any:
        numpy: Any = sys.modules["numpy"]
        return numpy.array(IQ4_VALUES, "int8")[fours]


def _q8_0(block: Any, do: Any) -> Groups:
    yield do.half(block[:2]), 0.0, do.to_int8(block[2:])


def _q4_0(block: Any, do: Any) -> Groups:
    scale = do.half(block[:2])
    for four in (do.low, do.high):
        yield scale, -8 * scale, four(block[2:])


def _q4_1(block: Any, do: Any) -> Groups:
    scale, least = do.half(block[:2]), do.half(block[2:4])
    for four in (do.low, do.high):
        yield scale, least, four(block[4:])


def _q5(block: Any, do: Any, start: int) -> Iterator[Any]:
    """Yield the numbers of a block with four bits in some bytes and the fifth in others."""
    bits = do.bits(block[start : start + 4])
    fours = block[start + 4 :]
    yield do.with_bit(do.low(fours), bits[:16], 0, 4)
    yield do.with_bit(do.high(fours), bits[16:], 0, 4)


def _q5_0(block: Any, do: Any) -> Groups:
    scale = do.half(block[:2])
    for numbers in _q5(block, do, 2):
        yield scale, -16 * scale, numbers


def _q5_1(block: Any, do: Any) -> Groups:
    scale, least = do.half(block[:2]), do.half(block[2:4])
    for numbers in _q5(block, do, 4):
        yield scale, least, numbers


def _q2_k(block: Any, do: Any) -> Groups:
    scales, twos = block[:16], block[16:80]
    scale, least = do.half(block[80:82]), do.half(block[82:])
    for part in range(16):  # of 16 values
        half, index = divmod(part, 8)
        start = half * 32 + index % 2 * 16
        numbers = do.two(twos[start : start + 16], index // 2 * 2)
        yield scale * (scales[part] & 15), -least * (scales[part] >> 4), numbers


def _q3_k(block: Any, do: Any) -> Groups:
    thirds, twos, packed, scale = block[:32], block[32:96], block[96:108], do.half(block[108:])
    for part in range(16):
        fours = (do.low if part < 8 else do.high)(packed[part % 8 : part % 8 + 1])
        factor = scale * do.six(fours, packed[8 + part % 4 : 9 + part % 4], part // 4 * 2)[0]
        half, index = divmod(part, 8)
        start = half * 32 + index % 2 * 16
        numbers = do.two(twos[start : start + 16], index // 2 * 2)
        bits = thirds[index % 2 * 16 :][:16]
        yield factor, -4 * factor, do.with_bit(numbers, bits, half * 4 + index // 2, 2)


def _q5_k(block: Any, do: Any) -> Groups:
    groups = enumerate(_q4_k(block, do, start=48))
    for group, (scale, least, numbers) in groups:
        yield scale, least, do.with_bit(numbers, block[16:48], group, 4)


def _iq4_nl(block: Any, do: Any) -> Groups:
    for four in (do.low, do.high):
        yield do.half(block[:2]), 0.0, do.look_up(four(block[2:]))


def _iq4_xs(block: Any, do: Any) -> Groups:
    scale, pairs, fours = do.half(block[:2]), block[2:4], block[4:8]
    for part in range(8):  # of 32 values
        four = (do.high if part % 2 else do.low)(fours[part // 2 : part // 2 + 1])
        factor = scale * do.six(four, pairs[part // 4 : part // 4 + 1], part % 4 * 2)[0]
        data = block[8 + part * 16 : 24 + part * 16]
        for nibbles in (do.low, do.high):
            yield factor, 0.0, do.look_up(nibbles(data))


def _q4_k(block: Any, do: Any, start: int = 16) -> Groups:
    scale, least, six, fours = do.half(block[:2]), do.half(block[2:4]), block[4:16], block[start:]
    for group in range(8):
        if group < 4:
            a, b = six[group] & 63, six[group + 4] & 63
        else:  # the upper bits of these are stored with the first four
            a = six[group + 4] & 15 | (six[group - 4] >> 6) << 4
            b = six[group + 4] >> 4 | (six[group] >> 6) << 4
        quarter = fours[group // 2 * 32 : group // 2 * 32 + 32]
        yield scale * a, -least * b, (do.high if group % 2 else do.low)(quarter)


def _q6_k(block: Any, do: Any) -> Groups:
    scale, scales = do.half(block[208:]), do.to_int8(block[192:208])
    for part in range(16):
        # 16 values each: eight parts share 64 bytes of lower and 32 of upper bits.
        half, index = divmod(part, 8)
        start = half * 64 + index % 4 * 16
        pairs = block[128 + half * 32 + index % 2 * 16 :][:16]
        fours = (do.high if index > 3 else do.low)(block[start : start + 16])
        yield scale * scales[part], 0.0, do.six(fours, pairs, index // 2 * 2)


Rule = Callable[[Any, Any], Groups]


@dataclass(frozen=True)
class Block:
    """The layout of a block: how many values it has, in how many bytes."""

    values: int
    size: int
    rule: Rule = field(repr=False)


BLOCKS = {
    "Q8_0": Block(32, 34, _q8_0),
    "Q4_0": Block(32, 18, _q4_0),
    "Q4_1": Block(32, 20, _q4_1),
    "Q5_0": Block(32, 22, _q5_0),
    "Q5_1": Block(32, 24, _q5_1),
    "Q2_K": Block(256, 84, _q2_k),
    "Q3_K": Block(256, 110, _q3_k),
    "Q4_K": Block(256, 144, _q4_k),
    "Q5_K": Block(256, 176, _q5_k),
    "Q6_K": Block(256, 210, _q6_k),
    "IQ4_NL": Block(32, 18, _iq4_nl),
    "IQ4_XS": Block(256, 136, _iq4_xs),
}
PLAIN = {"F32": (1, 4), "F16": (1, 2), "BF16": (1, 2)}
SIZES = PLAIN | {name: (block.values, block.size) for name, block in BLOCKS.items()}
READABLE = (*PLAIN, *BLOCKS)
TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    6: "Q5_0",
    7: "Q5_1",
    8: "Q8_0",
    10: "Q2_K",
    11: "Q3_K",
    12: "Q4_K",
    13: "Q5_K",
    14: "Q6_K",
    16: "IQ2_XXS",
    17: "IQ2_XS",
    18: "IQ3_XXS",
    19: "IQ1_S",
    20: "IQ4_NL",
    21: "IQ3_S",
    22: "IQ2_S",
    23: "IQ4_XS",
    24: "I8",
    25: "I16",
    26: "I32",
    27: "I64",
    28: "F64",
    29: "IQ1_M",
    30: "BF16",
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
}
"""The names of tensor types by number; other types are named by their number."""
IN_PAGES = frozenset(("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"))
"""The types that js_bridge/page/blocks.js unpacks."""
_BLOCKS_AT_ONCE = 1 << 15
"""Blocks that are unpacked together: their values stay in the cache of a processor."""


def dequantize_with_numpy(data: memoryview[int], kind: Block) -> Any:
    """Return the values of blocks; NumPy is loaded."""
    numpy: Any = sys.modules["numpy"]
    rows = numpy.frombuffer(data, "uint8").reshape(-1, kind.size)
    result = numpy.empty((len(rows), kind.values), "float32")
    for start in range(0, len(rows), _BLOCKS_AT_ONCE):
        start_of_group, part = 0, result[start : start + _BLOCKS_AT_ONCE]
        blocks = numpy.ascontiguousarray(rows[start : start + _BLOCKS_AT_ONCE].T)
        for scale, least, integers in kind.rule(blocks, _NumPy):
            values: Any = integers.astype("float32")
            values *= scale
            values += least
            part[:, start_of_group : start_of_group + len(values)] = values.T
            start_of_group += len(values)
    return result


def dequantize_in_python(data: memoryview[int], kind: Block) -> array[float]:
    """Return the values of blocks without NumPy."""
    result = array("f")
    for start in range(0, len(data), kind.size):
        block = bytes(data[start : start + kind.size])
        for scale, least, integers in kind.rule(block, _Python):
            result.extend([scale * number + least for number in integers])
    return result


def chunks(
    metadata: Mapping[str, Any], tensors: Mapping[str, tuple[str, Sequence[int], bytes]]
) -> Iterator[bytes]:
    """Yield a file in parts, from strings, numbers, lists of these, and tensors as they are stored.

    >>> import struct
    >>> data = struct.pack("<2f", 1, 2)
    >>> found = read(b"".join(chunks({"general.name": "tiny"}, {"w": ("F32", [2], data)})))
    >>> found.metadata["general.name"], found.tensors["w"].array().tolist()
    ('tiny', [1.0, 2.0])
    """
    head = [b"GGUF", struct.pack("<IQQ", VERSIONS[-1], len(tensors), len(metadata))]
    for key, value in metadata.items():
        code, data = _pack_value(value)
        head += [_text(key), struct.pack("<I", code), data]
    codes = {name: number for number, name in TYPES.items()}
    offset = 0
    for name, (type_name, shape, data) in tensors.items():
        sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += [_text(name), sizes, struct.pack("<IQ", codes[type_name], offset)]
        offset += len(data) + -len(data) % ALIGNMENT
    text = b"".join(head)
    yield text + bytes(-len(text) % ALIGNMENT)
    for _, _, data in tensors.values():
        yield data + bytes(-len(data) % ALIGNMENT)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _pack_value(value: Any) -> tuple[int, bytes]:
    """Return the type of a value in metadata, and its bytes."""
    if isinstance(value, bool):
        return _BOOLEAN, bytes([value])
    if isinstance(value, str):
        return _TEXT, _text(value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    items = [_pack_value(item) for item in value]
    code = items[0][0] if items else 4
    data = b"".join([data for _, data in items])
    return _ARRAY, struct.pack("<IQ", code, len(items)) + data
