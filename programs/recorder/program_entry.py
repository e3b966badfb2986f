"""Loads a program from sources in memory, and calls it by its entry: a model, function or script.

Runs user code.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import linecache
import random
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from compiler.diagnostic import KERNEL_FOLDER
from compiler.posted_text import lines_of, python_text
from compiler.reading.posted_files import package_of, root_package
from programs.recorder.kernel_definitions import as_loaded
from programs.recorder.record_order import NotRecordable
from programs.recorder.recording import Recording
from programs.tape.schema import TORCH_NAMES

MODULE = "user"
"""The name of the module and file of a program's own source."""
_GET_INPUTS = "get_inputs"
_GET_INIT_INPUTS = "get_init_inputs"
_MAX_DEPTH = 8
"""Limit of the nesting of lists and dicts in the globals of a script."""
_WHAT = {"model": "class", "function": "function", "inputs": "function"}


class ProgramFiles(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a program's modules among its sources, as if these were files of one folder."""

    def __init__(self, source: str, files: Mapping[str, str]) -> None:
        self._files = {**files, f"{MODULE}.py": source}
        self._loaded: dict[str, str] = {}
        self._replaced: dict[str, types.ModuleType] = {}
        self.globals_loaded: dict[int, Mapping[str, Any]] = {}
        """The globals of each module after loading, and its closures; see `as_loaded`."""
        self._root = root_package(files)
        self._package = package_of(source, files, self._root)
        for name, text in self._files.items():
            self._remember(KERNEL_FOLDER + name, text)

    @property
    def paths(self) -> Collection[str]:
        """The files, as in `co_filename` of their code."""
        return [KERNEL_FOLDER + name for name in self._files]

    def load(self, name: str = "user") -> types.ModuleType:
        """Run the program's own source as the module `name`. Raises its exceptions."""
        sys.meta_path.insert(0, self)
        return self._run(name, f"{MODULE}.py", self._package)

    def forget(self) -> None:
        """Remove the program's modules, and restore `__main__`, which a script replaces."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for name, module in list(sys.modules.items()):
            if getattr(module, "__loader__", None) is self:
                del sys.modules[name]
        sys.modules.update(self._replaced)
        for path in self.paths:
            linecache.cache.pop(path, None)

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Return the spec of a module or package of the program, else None."""
        del path, target
        if fullname == self._root:
            return self._spec(fullname, None, KERNEL_FOLDER.rstrip("/"))
        folder = fullname.removeprefix(f"{self._root}.").replace(".", "/")
        if f"{folder}/__init__.py" in self._files:
            return self._spec(fullname, f"{folder}/__init__.py", KERNEL_FOLDER + folder)
        if f"{folder}.py" in self._files:
            return self._spec(fullname, f"{folder}.py", None)
        if any(name.startswith(f"{folder}/") for name in self._files):
            return self._spec(fullname, None, KERNEL_FOLDER + folder)
        return None

    def get_source(self, fullname: str) -> str:
        """Return a module's source. Raises `ImportError` for a module that is not loaded."""
        if fullname not in self._loaded:
            raise ImportError(f"module {fullname} is not loaded")
        return self._loaded[fullname]

    def exec_module(self, module: types.ModuleType) -> None:
        """Run a source as a module."""
        path = str(module.__file__)
        text = self._files[path.removeprefix(KERNEL_FOLDER)]
        self._loaded[module.__name__] = text
        program = compile(python_text(text, path), path, "exec", dont_inherit=True)
        exec(program, module.__dict__)  # noqa: S102
        self.globals_loaded.update(as_loaded(module.__dict__))

    def _run(self, name: str, file: str, package: str) -> types.ModuleType:
        spec = self._spec(name, file, None)
        module = importlib.util.module_from_spec(spec)
        module.__package__ = package
        if spec.parent != package:
            spec.name = f"{package}.{name}"  # imports compare the two
        if name in sys.modules:
            self._replaced.setdefault(name, sys.modules[name])
        sys.modules[name] = module
        self.exec_module(module)
        return module

    def _spec(self, fullname: str, file: str | None, folder: str | None) -> Any:
        loader = None if file is None else self
        origin = None if file is None else KERNEL_FOLDER + file
        spec = importlib.machinery.ModuleSpec(
            fullname, loader, origin=origin, is_package=folder is not None
        )
        spec.has_location = file is not None
        if folder is not None:
            spec.submodule_search_locations = [folder]
        return spec

    def _remember(self, path: str, text: str) -> None:
        """Give tracebacks and `inspect` the lines of a source, as there is no file."""
        with suppress(SyntaxError):  # loading raises it
            linecache.cache[path] = (len(text), None, lines_of(python_text(text)), path)


def record_entry(recording: Recording, program: ProgramFiles) -> dict[str, Any]:
    """Load a program, and call the first of the order's entries that it defines.

    Returns the tape's members: inputs, parameters, outputs. Raises `NotRecordable` without an
    entry.
    """
    entries = recording.order.entries
    if entries[0]["kind"] == "script":
        return _script(recording, program, entries[0].get("outputs"))
    module = program.load()
    recording.triton_changes.loaded()
    for entry in entries:
        value = vars(module).get(_name(entry))
        if value is not None:
            call = {"model": _model, "function": _function, "inputs": _only_inputs}
            return call[entry["kind"]](recording, module, value)
    wanted = [f"{_WHAT[entry['kind']]} {_name(entry)!r}" for entry in entries]
    advice = (
        "set `entry` to the name to call, or to the kind `script` if the file launches by itself"
    )
    if entries[0]["kind"] == "inputs":
        advice = (
            "define it in the source of `inputs`, which returns the list of arguments, or name it"
        )
    raise NotRecordable("no_entry", f"it has no {' and no '.join(wanted)}: {advice}")


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry["class"] if entry["kind"] == "model" else entry["name"])


def _model(recording: Recording, module: Any, made: Any) -> dict[str, Any]:
    """Construct a model, move it to the device, and call it without gradients."""
    order, tape = recording.order, recording.tape
    if order.init_inputs is not None:
        init_values = from_specs(recording, order.init_inputs)
    else:
        init_values = _init_inputs(module, made)
    init_inputs = [tape.structure(item) for item in init_values]
    model = made(*init_values)
    if isinstance(model, torch.nn.Module):
        model = model.to(order.device)
    params = _params(recording, model)
    with torch.no_grad():
        called = _calls(recording, module, model)
    return {"init_inputs": init_inputs, "params": params, **called}


def _function(recording: Recording, module: Any, function: Any) -> dict[str, Any]:
    return {"params": [], **_calls(recording, module, function)}


def _only_inputs(recording: Recording, module: Any, function: Any) -> dict[str, Any]:
    """Make the inputs of two calls, for programs that must not see the function."""
    del module
    made = _both(recording, lambda: from_function(recording, function, function.__name__))
    inputs, inputs2 = (
        [recording.tape.structure(item) for item in call_inputs] for call_inputs in made
    )
    empty: dict[str, Any] = {"params": [], "outputs": None, "outputs2": None}
    return {"inputs": inputs, "inputs2": inputs2, **empty}


def _calls(recording: Recording, module: Any, called: Callable[..., Any]) -> dict[str, Any]:
    """Call twice, with different inputs; return the inputs and outputs of both calls."""
    tape = recording.tape
    first, second = _both(recording, _inputs(recording, module))
    members: dict[str, Any] = {
        "inputs": [tape.structure(item) for item in first],
        "inputs2": [tape.structure(item) for item in second],
    }
    tape.phase = "run"
    members["outputs"] = tape.structure(_plain(called(*first)))
    tape.copies.end_call()
    tape.phase = "run2"
    members["outputs2"] = tape.structure(_plain(called(*second)))
    tape.copies.end_call()
    return members


def _both(recording: Recording, make: Callable[[], list[Any]]) -> tuple[list[Any], list[Any]]:
    """Return the inputs of two calls. Drops their known values, as a call must depend on none."""
    recording.tape.phase = "inputs"
    with drawing_inputs(recording):
        made = make(), make()
    leaves = tree_leaves(made)
    recording.values.forget_with_constants(
        [item for item in leaves if isinstance(item, torch.Tensor)]
    )
    return made


def _inputs(recording: Recording, module: Any) -> Callable[[], list[Any]]:
    """Return a function that makes the inputs of the first call, then those of the second."""
    first, second = recording.order.inputs, recording.order.inputs2
    if first is not None:
        specs = iter((first, first if second is None else second))
        return lambda: from_specs(recording, next(specs))
    function = vars(module).get(_GET_INPUTS)
    if function is None:
        detail = (
            f"it has no function {_GET_INPUTS!r}, and the request has no `inputs`: define the "
            "function, or add `inputs`"
        )
        raise NotRecordable("no_entry", detail)
    return lambda: from_function(recording, function, _GET_INPUTS)


def _init_inputs(module: Any, model: Any) -> list[Any]:
    """Return the arguments of a model's constructor, from the program's own function."""
    function = vars(module).get(_GET_INIT_INPUTS)
    if function is None:
        _check_takes_nothing(model)
        return []
    made = function()
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _check_takes_nothing(model: Any) -> None:
    try:
        inspect.signature(model).bind()
    except ValueError:
        return  # no signature is known; the call itself raises an error for missing arguments
    except TypeError as error:
        detail = (
            f"{model.__name__} takes arguments ({error}), and there is no {_GET_INIT_INPUTS!r} "
            "that makes them: define it, or post a reference that does"
        )
        raise NotRecordable("no_entry", detail) from None


def _params(recording: Recording, model: Any) -> list[list[Any]]:
    if not isinstance(model, torch.nn.Module):
        return []
    named = [*model.named_parameters(), *model.named_buffers()]
    return [[name, recording.tape.number(tensor)] for name, tensor in named]


def _script(recording: Recording, program: ProgramFiles, names: list[str] | None) -> dict[str, Any]:
    """Run a script once. Its outputs are globals by `names`; None: all globals with tensors.

    This includes tensors in lists, tuples and dicts.
    """
    recording.tape.phase = "run"
    module = program.load("__main__")
    recording.triton_changes.loaded()
    recording.tape.copies.end_call()
    left = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    if names is None:
        values = _tensors_in(left) or {}
    else:
        values = _plain({name: _left(left, name) for name in names})
    outputs = recording.tape.structure(values)
    nothing: dict[str, Any] = {"inputs": [], "inputs2": [], "params": []}
    return {**nothing, "outputs": outputs, "outputs2": None}


def _left(left: Mapping[str, Any], name: str) -> Any:
    if name not in left:
        raise NotRecordable("no_entry", f"the script sets no global variable {name!r}")
    return left[name]


def _tensors_in(value: Any, depth: int = 0) -> Any | None:
    """Return a value reduced to its tensors, None if it has none."""
    if isinstance(value, torch.Tensor):
        return value
    if depth > _MAX_DEPTH:
        return None
    if type(value) is dict:
        entries = ((str(name), _tensors_in(item, depth + 1)) for name, item in value.items())
        return {name: item for name, item in entries if item is not None} or None
    if type(value) in (list, tuple):
        items = (_tensors_in(item, depth + 1) for item in value)
        kept = [item for item in items if item is not None]
        return (kept if type(value) is list else tuple(kept)) or None
    return None


def _plain(value: Any) -> Any:
    """Return an output made of lists, tuples and dicts; a dataclass becomes a dict."""
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def from_specs(recording: Recording, specs: Sequence[Any]) -> list[Any]:
    """Return new values of these specs. No op makes their tensors; scalars are as given."""
    return _from_specs(recording, specs, {})


def _from_specs(
    recording: Recording, specs: Sequence[Any], memory: dict[int, torch.Tensor]
) -> list[Any]:
    return [_from_spec(recording, spec, memory) for spec in specs]


def _from_spec(recording: Recording, spec: Any, memory: dict[int, torch.Tensor]) -> Any:
    if not isinstance(spec, Mapping):
        return spec
    ((kind, content),) = spec.items()
    if kind == "tensor":
        return _tensor(recording, content, memory)
    if kind in ("list", "tuple"):
        items = _from_specs(recording, content, memory)
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {name: _from_spec(recording, item, memory) for name, item in content.items()}
    if kind == "float":
        return float(content)
    if kind == "complex":
        return complex(*(_from_spec(recording, part, memory) for part in content))
    raise ValueError(f"unknown kind of input {kind!r}")


def _tensor(
    recording: Recording, spec: Mapping[str, Any], memory: dict[int, torch.Tensor]
) -> torch.Tensor:
    """Add a tensor without known values to the tape, and return it.

    `memory` are the storages so far, as bytes, by their number in the specs.
    """
    dtype = getattr(torch, TORCH_NAMES[spec["dtype"]])
    device = spec.get("device") or recording.order.device
    with recording.silence():
        if "storage" not in spec:
            made = torch.empty(spec["shape"], dtype=dtype, device=device)
        else:
            if spec["storage"] not in memory:
                count = spec["storage_bytes"]
                memory[spec["storage"]] = torch.empty(count, dtype=torch.uint8, device=device)
            octets = memory[spec["storage"]]
            elements = octets[: octets.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
            made = elements.as_strided(spec["shape"], spec["strides"], spec["offset"])
    recording.tape.tensors.add(made)
    return made


def from_function(recording: Recording, function: Callable[[], Any], name: str) -> list[Any]:
    """Return the arguments that the program's own function makes, on the order's device.

    Raises `NotRecordable` for a result that is neither a tensor, a list nor a tuple.
    """
    made = function()
    if isinstance(made, torch.Tensor):
        made = [made]
    if not isinstance(made, (list, tuple)):
        detail = f"{name}() returns {type(made).__name__} instead of a list of arguments"
        raise NotRecordable("bad_inputs", detail)
    return [moved(item, recording.order.device) for item in made]


def moved(value: Any, device: str) -> Any:
    """Return a value with its tensors on `device`."""
    if isinstance(value, torch.Tensor):
        return value.to(device) if value.device.type != device else value
    if type(value) in (list, tuple):
        return type(value)(moved(item, device) for item in value)
    if type(value) is dict:
        return {name: moved(item, device) for name, item in value.items()}
    return value


def seed_python_random(seed: int) -> None:
    """Seed both, so that two recordings are equal."""
    random.seed(seed)
    np.random.seed(seed % 2**32)


@contextmanager
def drawing_inputs(recording: Recording) -> Iterator[None]:
    """Use the order's `inputs_seed` in the block, and restore both generators after it.

    A candidate is recorded with the seed of its reference, as both may draw weights. If inputs came
    from that seed, a candidate could draw the reference's inputs. Sets `recording.draws_inputs` if
    the block drew numbers.
    """
    seed = recording.order.inputs_seed
    if seed is None:
        yield
        return
    before = random.getstate(), np.random.get_state()
    seed_python_random(seed)
    begun = _states()
    try:
        yield
        recording.draws_inputs = _states() != begun
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])


def _states() -> tuple[object, ...]:
    """Return the states of both as comparable values."""
    numbers: Any = np.random.get_state()
    return random.getstate(), bytes(numbers[1]), *numbers[2:]
