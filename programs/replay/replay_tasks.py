"""The task of replaying, for a separate zygote that never sees user code.

The zygote needs `launch_children.TORCH_ENVIRONMENT`.

A replay never imports a program, and runs none of its Python. Shapes are derived again, and memory
is bounded, before anything runs. Outputs are sent at the end of each call, before the next call may
change them.
"""

import gc
import importlib
import sys
import warnings
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import torch

from compiler.back import contexts, triton_api
from compiler.diagnostic import Failure
from compiler.messages.wire import Send, Task, task_of
from launch.buffers.allocation import part
from launch.buffers.element_types import stored
from launch.checks.bounded_output import BoundedOutput
from launch.cpu import small_kernel
from launch.cpu.grid_run import races_until
from launch.cpu.run_kernel import run
from launch.messages import Finding, Tolerance
from launch.reference import libraries as numbers
from launch.reference.comparison import comparison
from launch.request.tolerance import default_tolerance
from programs.replay import warming_networks
from programs.replay.checked_tapes import (
    NoMetaKernel,
    check_tapes,
    given_inputs,
    outputs_of,
    parameter_digests,
)
from programs.replay.experiment_changes import ExperimentChanges
from programs.replay.kernel_launch import KernelLaunches
from programs.replay.live_tensors import bytes_of
from programs.replay.program_run import (
    Ending,
    ProgramRun,
    ReplayOptions,
    ReplayStopped,
    tensors_in,
)
from programs.replay.replay_order import (
    CALLS,
    ORDER_DEPENDENT,
    Experiment,
    ReplayOrder,
    ReplayReport,
    input_stage,
    op_stage,
    output_stage,
    unwritten_stage,
)
from programs.replay.storage_lifetimes import lifetimes
from programs.replay.varied_replay import VariedReplay
from programs.replay.written_storages import ReplayedLaunches
from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape, Tape

_PARTS_OF_COMPLEX = {"complex64": "fp32", "complex128": "fp64"}
Outputs = dict[tuple[int, int], bytes]
"""Elements in C order, by call and position."""


def replay(order: ReplayOrder, body: bytes, send: Send) -> ReplayReport:
    """Replay both calls, and send their outputs.

    Raises `Failure`: `forged_tape` for a tape that no recorder sends, `unsupported_op`, and
    `needs_gpu`, with the user's line, for ops and kernels that the CPU device cannot run.
    """
    try:
        with redirect_stdout(BoundedOutput(sys.stdout)):
            return _Replay(order, body, send).report()
    except InvalidTape as error:
        raise Failure("forged_tape", "request", str(error)) from error
    except NoMetaKernel as error:
        raise Failure("unsupported_op", "request", str(error)) from error
    finally:
        sys.stdout.flush()


class _Replay:
    def __init__(self, order: ReplayOrder, body: bytes, send: Send) -> None:
        self._order, self._body, self._send = order, body, send
        self._until = races_until(order.limit_s)
        self._tape = read_tape(part(body, order.tape))
        self._needed = lifetimes(self._tape)
        self._findings: list[Finding] = []
        self._parameters: list[str | None] = []
        self._changes = ExperimentChanges(order.experiment or Experiment(), self._tape)

    def report(self) -> ReplayReport:
        """Replay once, or twice with the check `determinism`."""
        ending: Ending = "finished"
        deterministic = None
        try:
            source = self._checked()
            if self._order.experiment is not None and self._order.experiment.values is not None:
                return self._varied(source, self._order.experiment)
            first = self._run(launches := self._launches(), source, backwards=False)
            if "determinism" in self._order.checks:
                second = self._run(launches, source, backwards=True)
                deterministic = self._compare(first, second)
        except ReplayStopped as stopped:
            self._findings += stopped.findings
            ending = stopped.ending
        report = self._reported(ending)
        return replace(report, deterministic=deterministic, op_times_us=self._changes.op_times_us)

    def _reported(self, ending: Ending) -> ReplayReport:
        return ReplayReport(
            ending=ending,
            findings=self._findings,
            peak_bytes=self._needed.peak_bytes,
            parameters=self._parameters,
        )

    def _varied(self, source: Tape | None, experiment: Experiment) -> ReplayReport:
        """Replay with other values. Raises `ReplayStopped`."""
        replay = VariedReplay(
            tape=self._tape,
            needed=self._needed,
            launches=self._launches(),
            source=source,
            how=ReplayOptions(self._order.seed, until=self._until),
            memory_bytes=self._order.memory_bytes,
            send=self._send,
        )
        insensitive = replay.study(experiment) if experiment.tolerances else []
        try:
            self._findings += replay.run(experiment)
        except ReplayStopped as stopped:
            self._findings += stopped.findings
        return replace(self._reported("finished"), insensitive=insensitive)

    def _launches(self) -> ReplayedLaunches:
        return self._changes.launches or KernelLaunches(self._order, self._body, self._tape)

    def _checked(self) -> Tape | None:
        """Check the tapes before anything runs; return the one that makes the inputs."""
        inputs = self._order.inputs_tape
        text = None if inputs is None else part(self._body, inputs)
        return check_tapes(self._tape, text, self._order.memory_bytes, "the CPU device")

    def _run(self, launches: ReplayedLaunches, source: Tape | None, *, backwards: bool) -> Outputs:
        how = ReplayOptions(self._order.seed, self._order.checks, backwards, self._until)
        inputs = {} if source is None else given_inputs(self._tape, source, how)
        if self._order.announce:
            how = replace(how, before_op=self._announce)
        how = self._changes.options(how)
        run = ProgramRun(self._tape, self._needed, launches, how, inputs)
        self._changes.begin(run.tensors)
        del inputs  # so that the run can free inputs after their last use
        outputs: Outputs = {}
        try:
            run.run("init")
            self._parameters = parameter_digests(self._tape, run.tensors)
            run.run("inputs")
            for call, phase in enumerate(CALLS if self._order.experiment is None else CALLS[:1]):
                run.run(phase)
                outputs |= self._taken(run, call, is_sent=not backwards)
                if not backwards:
                    self._send_inputs(run, call)
        finally:
            if not backwards:
                self._findings += run.findings
        return outputs

    def _announce(self, index: int) -> None:
        self._send({"kind": "stage", "stage": op_stage(index), "ms": 0.0}, b"")

    def _taken(self, run: ProgramRun, call: int, *, is_sent: bool) -> Outputs:
        """Return a call's outputs, and send them."""
        outputs: Outputs = {}
        for position, (_, id_) in enumerate(tensors_in(outputs_of(self._tape, call))):
            data = bytes_of(run.tensors.get(id_))
            outputs[call, position] = data
            if not is_sent:
                continue
            self._send({"kind": "stage", "stage": output_stage(call, position), "ms": 0.0}, data)
            missing = run.written.unwritten(id_)
            if missing is not None:
                bits = np.packbits(missing).tobytes()
                header = {"kind": "stage", "stage": unwritten_stage(call, position), "ms": 0.0}
                self._send(header, bits)
        return outputs if "determinism" in self._order.checks else {}

    def _send_inputs(self, run: ProgramRun, call: int) -> None:
        """Send the inputs that a call changed in place, as it leaves them."""
        for position, data in run.inputs_left.items():
            stage = input_stage(call, position)
            self._send({"kind": "stage", "stage": stage, "ms": 0.0}, data)

    def _compare(self, first: Outputs, second: Outputs) -> bool:
        """Add findings where two replays differ; return True if they do not."""
        same = True
        for call in range(len(CALLS)):
            for position, (path, id_) in enumerate(tensors_in(outputs_of(self._tape, call))):
                ours, theirs = first[call, position], second[call, position]
                if ours != theirs:
                    same = False
                    dtype = self._tape.tensors[id_].dtype
                    rounded = _differ_by_rounding(ours, theirs, dtype)
                    self._findings.append(_nondeterministic(path, call, rounded=rounded))
        return same


def _differ_by_rounding(first: bytes, second: bytes, dtype: str) -> bool:
    """Return True if adding in another order can explain the differences of two outputs."""
    dtype = _PARTS_OF_COMPLEX.get(dtype, dtype)
    rtol = default_tolerance(dtype).rtol
    tolerance = Tolerance(rtol=rtol, atol=rtol, equal_nan=True, atol_scale="rms")
    kind = stored(dtype)
    sides = np.frombuffer(second, kind), np.frombuffer(first, kind)
    return bool(comparison(*sides, tolerance, dtype, dtype)["matches"])


def _nondeterministic(path: str, call: int, *, rounded: bool) -> Finding:
    which = ("first", "second")[call]
    message = (
        f"Output {path} of the {which} call differs between two replays with equal inputs, in the "
        "second of which ran the program instances of each launch in the opposite order"
    )
    if rounded:
        message += ". Adding in another order explains differences of this size."
        return Finding(kind="nondeterministic", argument=path, message=message)
    message += (
        ". Its values depend on that order, which a GPU does not define. Do not use the result of "
        "an atomic operation to decide what to write."
    )
    return Finding(kind=ORDER_DEPENDENT, argument=path, message=message)


__all__ = ["TASKS", "libraries", "prewarm", "warm_up"]

_ALSO = (
    "decimal", "ml_dtypes", "numpy", "numpy.lib.stride_tricks", "numpy.ma",
    "torch._decomp", "torch._refs",
    "torch._meta_registrations", "torch._prims", "torch._refs.fft", "torch._refs.linalg",
    "torch._refs.nn.functional", "torch._refs.special", "torch._subclasses.functional_tensor",
    "torch._subclasses.schema_check_mode", "torch.fft", "torch.fx.experimental.proxy_tensor",
    "torch.fx.experimental.symbolic_shapes", "torch.linalg", "torch.special",
)  # fmt: skip


TASKS: dict[str, Task] = dict([task_of(ReplayOrder, replay)])


def libraries() -> dict[str, str]:
    """Return the versions on which a replay's numbers depend, besides its tape."""
    capability = torch.backends.cpu.get_cpu_capability()
    return numbers.libraries() | {"torch": torch.__version__, "capability": capability}


def warm_up() -> None:
    """Import everything that a replay may need, and run most of it once, without new threads."""
    warnings.simplefilter("ignore")
    for name in _ALSO:
        importlib.import_module(name)
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    warming_networks.run_all()
    prewarm("back")
    gc.collect()


def prewarm(profile: str) -> None:
    """Run a tiny kernel to take its page faults early."""
    if profile == "back":
        order = small_kernel.small_order()
        run(order, small_kernel.TEXT, lambda *_: None)
        contexts.prepare(triton_api.make_backend(triton_api.target_of(order.target)))
