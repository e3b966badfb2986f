# Runs in: client
"""tritonc: compile and run Triton GPU kernels on a tritond service, without a GPU of your own."""

from typing import Any

from tritonc_version import __version__

from tritonc import buffers
from tritonc._async.client import AsyncClient
from tritonc._sync.client import Client
from tritonc.batch import Batch, BatchItem
from tritonc.compilation import Artifact, Compilation
from tritonc.compile_body import FurtherMembers, compile_request
from tritonc.diagnostic import Diagnostic, FieldError, Problem
from tritonc.diff import Diff, StageDiff
from tritonc.errors import (
    CompileFailed,
    LaunchFailed,
    ProblemError,
    ProgramFailed,
    ServerUnavailable,
    TritoncError,
    UnexpectedAnswer,
    WaitExpired,
)
from tritonc.event import Event
from tritonc.launch import Launch
from tritonc.launch_body import LaunchMembers, LaunchRequest, launch_request
from tritonc.launch_run import Finding, Output, Run
from tritonc.own_list import ListItem, OwnList
from tritonc.programs.program import Program, ProgramFlag, ProgramKernel
from tritonc.programs.program_body import ProgramMembers, ProgramRequest, program_request
from tritonc.programs.timed_program import ProgramEntry, ProgramTimes
from tritonc.sweeps.sweep import Sweep
from tritonc.sweeps.sweep_body import SweepRequest, sweep_request
from tritonc.sweeps.sweep_row import SweepRow
from tritonc.upload import Upload, array

__all__ = [
    "Artifact",
    "AsyncClient",
    "Batch",
    "BatchItem",
    "Client",
    "Compilation",
    "CompileFailed",
    "Diagnostic",
    "Diff",
    "Event",
    "FieldError",
    "Finding",
    "FurtherMembers",
    "Launch",
    "LaunchFailed",
    "LaunchMembers",
    "LaunchRequest",
    "ListItem",
    "Output",
    "OwnList",
    "Problem",
    "ProblemError",
    "Program",
    "ProgramEntry",
    "ProgramFailed",
    "ProgramFlag",
    "ProgramKernel",
    "ProgramMembers",
    "ProgramRequest",
    "ProgramTimes",
    "Run",
    "ServerUnavailable",
    "StageDiff",
    "Sweep",
    "SweepRequest",
    "SweepRow",
    "TritoncError",
    "UnexpectedAnswer",
    "Upload",
    "WaitExpired",
    "__version__",
    "array",
    "buffers",
    "compile_request",
    "launch_request",
    "program_request",
    "sweep_request",
]


def load_ipython_extension(shell: Any) -> None:
    """Register the magic `%%tritonc`; `%load_ext tritonc` calls this."""
    from tritonc import jupyter  # its packages are those of the command line

    jupyter.load_ipython_extension(shell)
