"""Ops, launches and kernels of a tape, read from parsed JSON."""

import re
from collections.abc import Mapping
from typing import Any, cast

from programs.tape import json_fields as fields
from programs.tape.invalid_tape import InvalidTape
from programs.tape.read_values import ValueReader, a_device, a_generator
from programs.tape.schema import (
    PHASES,
    AtenOp,
    KernelParameter,
    LaunchValue,
    LaunchVariant,
    Op,
    Phase,
    ProgramLine,
    Seeding,
    TapeKernel,
    TapeLaunch,
)
from programs.tape.tape_bounds import (
    MAX_ARGUMENTS,
    MAX_GRID,
    MAX_KERNELS,
    MAX_LINE,
    MAX_NAME_CHARS,
    MAX_OPS,
    MAX_PARAMETERS,
    MAX_VARIANTS,
)

_LAUNCH_FIELDS = ("op", "kernel", "grid", "args", "constexprs", "options", "phase")
_LAUNCH_OPTIONAL = (
    "variants", "reset_to_zero", "restore_value", "line", "allocator",
    "tunes", "hook_ops",
)  # fmt: skip
_VARIANT_FIELDS = ("grid", "constexprs", "options")
_VARIANT_OPTIONAL = ("unprepared",)
_OVERLOAD = re.compile(r"aten\.\w{1,100}\.\w{1,60}", re.ASCII)
_PLACE = re.compile(r"([^\x00-\x1f]{1,200}):(\d{1,8})", re.ASCII)


def read_kernels(raw: Any, where: str) -> dict[str, TapeKernel]:
    """Return a tape's kernels by name. Raises `InvalidTape`."""
    found = fields.a_dict(raw, where, MAX_KERNELS)
    return {
        fields.name(key, where): _kernel(entry, f"{where}/{index}")
        for index, (key, entry) in enumerate(found.items())
    }


def _kernel(raw: Any, where: str) -> TapeKernel:
    found = fields.record(raw, where, ("file", "name", "line", "parameters"))
    parameters = []
    listed = fields.a_list(found["parameters"], f"{where}/parameters", MAX_PARAMETERS)
    for index, entry in enumerate(listed):
        here = f"{where}/parameters/{index}"
        one = fields.record(entry, here, ("name", "constexpr"))
        name, constexpr = fields.name(one["name"], here), fields.boolean(one["constexpr"], here)
        parameters.append(KernelParameter(name, constexpr))
    if len({parameter.name for parameter in parameters}) != len(parameters):
        raise InvalidTape(f"{where}/parameters", "two parameters have the same name")
    return TapeKernel(
        fields.name(found["file"], f"{where}/file"),
        fields.name(found["name"], f"{where}/name"),
        fields.integer(found["line"], f"{where}/line", 0, MAX_LINE),
        tuple(parameters),
    )


def read_op(raw: Any, where: str, values: ValueReader) -> Op:
    """Return one entry of `ops`. Raises `InvalidTape`."""
    values.begin()
    kind = raw.get("op") if isinstance(raw, dict) else None
    if kind == "launch":
        return _launch(raw, where, values)
    if kind == "seed":
        found = fields.record(raw, where, ("op", "seed", "phase"), ("generator", "device", "line"))
        own, device = found.get("generator"), found.get("device")
        if own is not None and device is not None:
            raise InvalidTape(where, "it names a generator and a device; only one is possible")
        return Seeding(
            fields.integer(found["seed"], f"{where}/seed"),
            None if own is None else a_generator(own, f"{where}/generator").number,
            None if device is None else a_device(device, f"{where}/device"),
            read_phase(found["phase"], where),
            read_place(found.get("line"), where),
        )
    return _aten(raw, where, values)


def _aten(raw: Any, where: str, values: ValueReader) -> AtenOp:
    found = fields.record(raw, where, ("op", "a", "o", "phase"), ("k", "line"))
    op = fields.text(found["op"], f"{where}/op", MAX_NAME_CHARS)
    if not _OVERLOAD.fullmatch(op):
        raise InvalidTape(f"{where}/op", f"{fields.shown(op)} is not the name of an ATen overload")
    args = fields.a_list(found["a"], f"{where}/a", MAX_PARAMETERS)
    kwargs = fields.a_dict(found.get("k", {}), f"{where}/k", MAX_PARAMETERS)
    outputs = fields.a_list(found["o"], f"{where}/o", MAX_ARGUMENTS)
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
        read_phase(found["phase"], where),
        read_place(found.get("line"), where),
    )


def _launch(raw: Any, where: str, values: ValueReader) -> TapeLaunch:
    found = fields.record(raw, where, _LAUNCH_FIELDS, _LAUNCH_OPTIONAL)
    name = fields.text(found["kernel"], f"{where}/kernel", MAX_NAME_CHARS)
    own = _variant({name: found[name] for name in _VARIANT_FIELDS}, where, values)
    variants = fields.a_list(found.get("variants", []), f"{where}/variants", MAX_VARIANTS)
    return TapeLaunch(
        kernel=name,
        grid=own.grid,
        args=_by_parameter(found["args"], f"{where}/args", values),
        constexprs=own.constexprs,
        options=own.options,
        variants=tuple(
            [
                _variant(variant, f"{where}/variants/{index}", values)
                for index, variant in enumerate(variants)
            ]
        ),
        reset_to_zero=_names(found.get("reset_to_zero", []), f"{where}/reset_to_zero"),
        restore_value=_names(found.get("restore_value", []), f"{where}/restore_value"),
        phase=read_phase(found["phase"], where),
        place=read_place(found.get("line"), where),
        has_allocator=fields.boolean(found.get("allocator", False), f"{where}/allocator"),
        tunes=fields.boolean(found.get("tunes", False), f"{where}/tunes"),
        hook_ops=fields.integer(found.get("hook_ops", 0), f"{where}/hook_ops", 0, MAX_OPS - 1),
    )


def _variant(raw: Any, where: str, values: ValueReader) -> LaunchVariant:
    found = fields.record(raw, where, _VARIANT_FIELDS, _VARIANT_OPTIONAL)
    return LaunchVariant(
        _grid(found["grid"], f"{where}/grid"),
        _by_parameter(found["constexprs"], f"{where}/constexprs", values),
        _options(found["options"], f"{where}/options"),
        fields.boolean(found.get("unprepared", False), f"{where}/unprepared"),
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
    found = fields.a_dict(raw, where, MAX_PARAMETERS)
    return {
        fields.name(key, where): values.launch_argument(value, f"{where}/{key}")
        for key, value in found.items()
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
