"""Reads a tape from the bytes that a recorder's process sent. They may be hostile.

Every field has one type and bounds, and the fields are checked against each other before anything
uses them. Nothing is skipped, guessed or filled in.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, cast

from programs.tape import json_fields as fields
from programs.tape.checks.check_ops import check_ops
from programs.tape.read_values import ValueReader, a_device, a_generator
from programs.tape.schema import (
    ELEMENT_BYTES,
    MAX_ARGUMENTS,
    MAX_CONSTANT_BYTES,
    MAX_GRID,
    MAX_KERNELS,
    MAX_LINE,
    MAX_MODULE_PARAMETERS,
    MAX_NAME_CHARS,
    MAX_OPS,
    MAX_PARAMETERS,
    MAX_RANK,
    MAX_STORAGE_BYTES,
    MAX_TENSORS,
    MAX_TOTAL_BYTES,
    MAX_VARIANTS,
    PHASES,
    AtenOp,
    InvalidTape,
    KernelParameter,
    LaunchValue,
    LaunchVariant,
    Op,
    Phase,
    ProgramLine,
    Seeding,
    Structure,
    Tape,
    TapeKernel,
    TapeLaunch,
    TensorMeta,
)
from programs.tape.tensor_extents import check_constants, check_tensors

_LAUNCH_FIELDS = ("op", "kernel", "grid", "args", "constexprs", "options", "phase")
_LAUNCH_OPTIONAL = (
    "variants", "reset_to_zero", "restore_value", "line", "allocator",
    "tunes", "hook_ops",
)  # fmt: skip
_VARIANT_FIELDS = ("grid", "constexprs", "options")
_VARIANT_OPTIONAL = ("unprepared",)
_OVERLOAD = re.compile(r"aten\.\w{1,100}\.\w{1,60}", re.ASCII)
_PLACE = re.compile(r"([^\x00-\x1f]{1,200}):(\d{1,8})", re.ASCII)
VERSION = 1
_FIELDS = (
    "tape", "torch", "tensors", "storages", "kernels", "constants", "seed", "inputs", "inputs2",
    "params", "outputs", "outputs2", "ops",
)  # fmt: skip
_TENSOR_FIELDS = 6


def read_kernels(raw: Any, where: str) -> dict[str, TapeKernel]:
    """Return a tape's kernels by name. Raises `InvalidTape`."""
    entries = fields.a_dict(raw, where, MAX_KERNELS)
    return {
        fields.name(key, where): _kernel(entry, f"{where}/{index}")
        for index, (key, entry) in enumerate(entries.items())
    }


def _kernel(raw: Any, where: str) -> TapeKernel:
    members = fields.record(raw, where, ("file", "name", "line", "parameters"))
    parameters = []
    listed = fields.a_list(members["parameters"], f"{where}/parameters", MAX_PARAMETERS)
    for index, entry in enumerate(listed):
        here = f"{where}/parameters/{index}"
        parameter = fields.record(entry, here, ("name", "constexpr"))
        name, constexpr = (
            fields.name(parameter["name"], here),
            fields.boolean(parameter["constexpr"], here),
        )
        parameters.append(KernelParameter(name, constexpr))
    if len({parameter.name for parameter in parameters}) != len(parameters):
        raise InvalidTape(f"{where}/parameters", "two parameters have the same name")
    return TapeKernel(
        fields.name(members["file"], f"{where}/file"),
        fields.name(members["name"], f"{where}/name"),
        fields.integer(members["line"], f"{where}/line", 0, MAX_LINE),
        tuple(parameters),
    )


def read_op(raw: Any, where: str, values: ValueReader) -> Op:
    """Return one entry of `ops`. Raises `InvalidTape`."""
    values.begin()
    kind = raw.get("op") if isinstance(raw, dict) else None
    if kind == "launch":
        return _launch(raw, where, values)
    if kind == "seed":
        members = fields.record(
            raw, where, ("op", "seed", "phase"), ("generator", "device", "line")
        )
        own, device = members.get("generator"), members.get("device")
        if own is not None and device is not None:
            raise InvalidTape(where, "it names a generator and a device; only one is possible")
        return Seeding(
            fields.integer(members["seed"], f"{where}/seed"),
            None if own is None else a_generator(own, f"{where}/generator").number,
            None if device is None else a_device(device, f"{where}/device"),
            read_phase(members["phase"], where),
            read_place(members.get("line"), where),
        )
    return _aten(raw, where, values)


def _aten(raw: Any, where: str, values: ValueReader) -> AtenOp:
    members = fields.record(raw, where, ("op", "a", "o", "phase"), ("k", "line"))
    op = fields.text(members["op"], f"{where}/op", MAX_NAME_CHARS)
    if not _OVERLOAD.fullmatch(op):
        raise InvalidTape(f"{where}/op", f"{fields.shown(op)} is not the name of an ATen overload")
    args = fields.a_list(members["a"], f"{where}/a", MAX_PARAMETERS)
    kwargs = fields.a_dict(members.get("k", {}), f"{where}/k", MAX_PARAMETERS)
    outputs = fields.a_list(members["o"], f"{where}/o", MAX_ARGUMENTS)
    return AtenOp(
        op,
        tuple([values.argument(arg, f"{where}/a/{index}") for index, arg in enumerate(args)]),
        {
            fields.name(key, f"{where}/k"): values.argument(arg, f"{where}/k/{key}")
            for key, arg in kwargs.items()
        },
        tuple(
            [
                None if output is None else values.tensor(output, f"{where}/o/{index}").id
                for index, output in enumerate(outputs)
            ]
        ),
        read_phase(members["phase"], where),
        read_place(members.get("line"), where),
    )


def _launch(raw: Any, where: str, values: ValueReader) -> TapeLaunch:
    members = fields.record(raw, where, _LAUNCH_FIELDS, _LAUNCH_OPTIONAL)
    name = fields.text(members["kernel"], f"{where}/kernel", MAX_NAME_CHARS)
    own = _variant({name: members[name] for name in _VARIANT_FIELDS}, where, values)
    variants = fields.a_list(members.get("variants", []), f"{where}/variants", MAX_VARIANTS)
    return TapeLaunch(
        kernel=name,
        grid=own.grid,
        args=_by_parameter(members["args"], f"{where}/args", values),
        constexprs=own.constexprs,
        options=own.options,
        variants=tuple(
            [
                _variant(variant, f"{where}/variants/{index}", values)
                for index, variant in enumerate(variants)
            ]
        ),
        reset_to_zero=_names(members.get("reset_to_zero", []), f"{where}/reset_to_zero"),
        restore_value=_names(members.get("restore_value", []), f"{where}/restore_value"),
        phase=read_phase(members["phase"], where),
        place=read_place(members.get("line"), where),
        has_allocator=fields.boolean(members.get("allocator", False), f"{where}/allocator"),
        tunes=fields.boolean(members.get("tunes", False), f"{where}/tunes"),
        hook_ops=fields.integer(members.get("hook_ops", 0), f"{where}/hook_ops", 0, MAX_OPS - 1),
    )


def _variant(raw: Any, where: str, values: ValueReader) -> LaunchVariant:
    members = fields.record(raw, where, _VARIANT_FIELDS, _VARIANT_OPTIONAL)
    return LaunchVariant(
        _grid(members["grid"], f"{where}/grid"),
        _by_parameter(members["constexprs"], f"{where}/constexprs", values),
        _options(members["options"], f"{where}/options"),
        fields.boolean(members.get("unprepared", False), f"{where}/unprepared"),
    )


def _grid(raw: Any, where: str) -> tuple[int, int, int]:
    items = fields.a_list(raw, where, len(MAX_GRID))
    if len(items) != len(MAX_GRID):
        raise InvalidTape(where, f"a grid has {len(MAX_GRID)} sizes, not {len(items)}")
    x, y, z = (
        fields.integer(item, f"{where}/{index}", 0, most)
        for index, (item, most) in enumerate(zip(items, MAX_GRID, strict=True))
    )
    return x, y, z


def _by_parameter(raw: Any, where: str, values: ValueReader) -> Mapping[str, LaunchValue]:
    entries = fields.a_dict(raw, where, MAX_PARAMETERS)
    return {
        fields.name(key, where): values.launch_argument(value, f"{where}/{key}")
        for key, value in entries.items()
    }


def _options(raw: Any, where: str) -> Mapping[str, int | bool | str]:
    options: dict[str, int | bool | str] = {}
    for key, value in fields.a_dict(raw, where, MAX_PARAMETERS).items():
        here = f"{where}/{key}"
        if not isinstance(value, (bool, str)):
            options[fields.name(key, where)] = fields.integer(value, here)
        else:
            text_or_flag = value if isinstance(value, bool) else fields.text(value, here)
            options[fields.name(key, where)] = text_or_flag
    return options


def _names(raw: Any, where: str) -> tuple[str, ...]:
    items = fields.a_list(raw, where, MAX_PARAMETERS)
    return tuple([fields.name(item, f"{where}/{index}") for index, item in enumerate(items)])


def read_phase(raw: Any, where: str) -> Phase:
    """Return a phase by its name. Raises `InvalidTape`."""
    return cast("Phase", fields.one_of(raw, f"{where}/phase", PHASES, "phase"))


def read_place(raw: Any, where: str) -> ProgramLine | None:
    """Return the place of `file:line`, None for null. Raises `InvalidTape`."""
    if raw is None:
        return None
    match = _PLACE.fullmatch(fields.text(raw, f"{where}/line", MAX_NAME_CHARS))
    if match is None:
        raise InvalidTape(f"{where}/line", f"{fields.shown(raw)} is not `file:line`")
    return ProgramLine(match[1], int(match[2]))


def read_tape(raw: bytes) -> Tape:
    """Return the tape in these bytes of JSON.

    Raises `InvalidTape`, which names the first fault.
    """
    members = fields.record(fields.parsed(raw), "", _FIELDS, ("init_inputs", "ends"))
    if "ends" in members:
        raise InvalidTape(
            "/ends", "tapes of several CUDA streams are not read any more: record the program again"
        )
    if fields.integer(members["tape"], "/tape") != VERSION:
        raise InvalidTape("/tape", f"its version is {members['tape']}, not {VERSION}")
    storages = fields.integers(members["storages"], "/storages", MAX_TENSORS, 0, MAX_STORAGE_BYTES)
    if sum(storages) > MAX_TOTAL_BYTES:
        raise InvalidTape("/storages", f"they take more than {MAX_TOTAL_BYTES} bytes together")
    tensors = _tensors(members["tensors"], len(storages))
    kernels = read_kernels(members["kernels"], "/kernels")
    values = ValueReader(len(tensors), kernels)
    ops = fields.a_list(members["ops"], "/ops", MAX_OPS)
    tape = Tape(
        torch=fields.name(members["torch"], "/torch"),
        tensors=tensors,
        storages=storages,
        kernels=kernels,
        constants=_constants(members["constants"], values),
        seed=fields.integer(members["seed"], "/seed"),
        init_inputs=_structures(members.get("init_inputs", []), "/init_inputs", values),
        inputs=_structures(members["inputs"], "/inputs", values),
        inputs2=_structures(members["inputs2"], "/inputs2", values),
        params=_params(members["params"], values),
        outputs=_structure(members["outputs"], "/outputs", values),
        outputs2=_structure(members["outputs2"], "/outputs2", values),
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
