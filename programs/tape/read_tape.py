"""Reads a tape from the bytes that a recorder's process sent. They may be hostile.

Every field has one type and bounds, and the fields are checked against each other before anything
uses them. Nothing is skipped, guessed or filled in.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from programs.tape import json_fields as fields
from programs.tape.checks.check_ops import check_ops
from programs.tape.invalid_tape import InvalidTape
from programs.tape.read_ops import read_kernels, read_op
from programs.tape.read_values import ValueReader, a_device
from programs.tape.schema import Structure, Tape, TensorMeta
from programs.tape.tape_bounds import (
    MAX_ARGUMENTS,
    MAX_CONSTANT_BYTES,
    MAX_MODULE_PARAMETERS,
    MAX_OPS,
    MAX_RANK,
    MAX_STORAGE_BYTES,
    MAX_TENSORS,
    MAX_TOTAL_BYTES,
)
from programs.tape.tape_dtypes import ELEMENT_BYTES
from programs.tape.tensor_extents import check_constants, check_tensors

VERSION = 1
_FIELDS = (
    "tape", "torch", "tensors", "storages", "kernels", "constants", "seed", "inputs", "inputs2",
    "params", "outputs", "outputs2", "ops",
)  # fmt: skip
_TENSOR_FIELDS = 6


def read_tape(raw: bytes) -> Tape:
    """Return the tape in these bytes of JSON.

    Raises `InvalidTape`, which names the first fault.
    """
    found = fields.record(fields.parsed(raw), "", _FIELDS, ("init_inputs", "ends"))
    if "ends" in found:
        raise InvalidTape(
            "/ends", "tapes of several CUDA streams are not read any more: record the program again"
        )
    if fields.integer(found["tape"], "/tape") != VERSION:
        raise InvalidTape("/tape", f"its version is {found['tape']}, not {VERSION}")
    storages = fields.integers(found["storages"], "/storages", MAX_TENSORS, 0, MAX_STORAGE_BYTES)
    if sum(storages) > MAX_TOTAL_BYTES:
        raise InvalidTape("/storages", f"they take more than {MAX_TOTAL_BYTES} bytes together")
    tensors = _tensors(found["tensors"], len(storages))
    kernels = read_kernels(found["kernels"], "/kernels")
    values = ValueReader(len(tensors), kernels)
    ops = fields.a_list(found["ops"], "/ops", MAX_OPS)
    tape = Tape(
        torch=fields.name(found["torch"], "/torch"),
        tensors=tensors,
        storages=storages,
        kernels=kernels,
        constants=_constants(found["constants"], values),
        seed=fields.integer(found["seed"], "/seed"),
        init_inputs=_structures(found.get("init_inputs", []), "/init_inputs", values),
        inputs=_structures(found["inputs"], "/inputs", values),
        inputs2=_structures(found["inputs2"], "/inputs2", values),
        params=_params(found["params"], values),
        outputs=_structure(found["outputs"], "/outputs", values),
        outputs2=_structure(found["outputs2"], "/outputs2", values),
        ops=tuple([read_op(op, f"/ops/{index}", values) for index, op in enumerate(ops)]),
    )
    check_tensors(tape)
    check_constants(tape)
    check_ops(tape)
    return tape


def _tensors(raw: Any, storages: int) -> tuple[TensorMeta, ...]:
    listed = fields.a_list(raw, "/tensors", MAX_TENSORS)
    return tuple([_tensor(entry, f"/tensors/{n}", storages) for n, entry in enumerate(listed)])


def _tensor(raw: Any, where: str, storages: int) -> TensorMeta:
    entry = fields.a_list(raw, where, _TENSOR_FIELDS)
    if len(entry) != _TENSOR_FIELDS:
        raise InvalidTape(where, "a tensor is [dtype, device, shape, strides, offset, storage]")
    return TensorMeta(
        fields.one_of(entry[0], f"{where}/0", ELEMENT_BYTES, "element type"),
        a_device(entry[1], f"{where}/1"),
        fields.integers(entry[2], f"{where}/2", MAX_RANK, 0, MAX_STORAGE_BYTES),
        fields.integers(entry[3], f"{where}/3", MAX_RANK, 0, MAX_STORAGE_BYTES),
        fields.integer(entry[4], f"{where}/4", 0, MAX_STORAGE_BYTES),
        fields.integer(entry[5], f"{where}/5", 0, storages - 1),
    )


def _constants(raw: Any, values: ValueReader) -> Mapping[int, bytes]:
    constants: dict[int, bytes] = {}
    left = MAX_CONSTANT_BYTES
    for key, content in fields.a_dict(raw, "/constants", MAX_TENSORS).items():
        where = f"/constants/{key[:20]}"
        if not key.isascii() or not key.isdigit() or str(int(key[:20])) != key:
            raise InvalidTape("/constants", f"{fields.shown(key)} is not the index of a tensor")
        data = _base64(fields.text(content, where, MAX_CONSTANT_BYTES * 2), where)
        left -= len(data)
        if left < 0:
            raise InvalidTape(
                where, f"constants take more than {MAX_CONSTANT_BYTES} bytes together"
            )
        constants[values.tensor(int(key), where).id] = data
    return constants


def _base64(text: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidTape(where, "it is not base64") from None


def _params(raw: Any, values: ValueReader) -> tuple[tuple[str, int], ...]:
    params = []
    for index, entry in enumerate(fields.a_list(raw, "/params", MAX_MODULE_PARAMETERS)):
        where = f"/params/{index}"
        pair = fields.a_list(entry, where, 2)
        if len(pair) != 2:
            raise InvalidTape(where, "a parameter is its name and the index of its tensor")
        params.append((fields.name(pair[0], where), values.tensor(pair[1], where).id))
    return tuple(params)


def _structures(raw: Any, where: str, values: ValueReader) -> tuple[Structure, ...]:
    listed = fields.a_list(raw, where, MAX_ARGUMENTS)
    return tuple([_structure(entry, f"{where}/{n}", values) for n, entry in enumerate(listed)])


def _structure(raw: Any, where: str, values: ValueReader) -> Structure:
    values.begin()
    return values.structure(raw, where)
