"""The parsers of texts from callers, children and tools; each with pieces of its input."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from tritonc.diagnostic import printable

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.diagnostic import Diagnostic
from compiler.front.stubs import version_stub
from compiler.lines import hot_lines
from compiler.reading import syntax_errors
from compiler.request.signature import parse_specialization
from compiler.target import parse_target
from compiler.type_name import canonical_type
from launch.buffers.npy_header import read_npy_header
from launch.request.grid import parse_grid
from launch.request.inference import annotated_type
from programs.tape.read_tape import read_tape
from service.http import body, query, validators
from worker.compile.reports import kept_diagnostics
from worker.gpu.timing_integrity import module_globals
from worker.gpu.tools import profile_report, sanitizer_report, source_counters
from worker.launch.gpu import gpu_outcome
from worker.pool import frame

TARGET = parse_target("cuda:90")
METADATA = {"name": "k", "num_warps": 4, "shared": 0}
FRAME = frame.encode(frame.NO_JOB, {})


def _abi(text: str) -> object:
    parameter = Parameter(name="x", type=text, role="runtime", hints=[], value=None)
    return abi_of(TARGET, [parameter], METADATA)


def _framed(text: str) -> bytes:
    data = text.encode()
    return frame._PREFIX.pack(frame.MAGIC, frame.VERSION, frame.NO_JOB, len(data), 0) + data


def _module(text: str) -> bytes:
    """Return a module with a symbol for every eighth character of its table of names."""
    names = text.encode()
    count = min(module_globals.MAX_GLOBALS, len(names) // 8)
    symbols = b"".join(Struct("<IBBHQQ").pack(at * 8, 1, 0, 1, 0, 4) for at in range(count))
    section = Struct("<IIQQQQIIQQ").pack
    tables = section(0, 3, 0, 0, 64, len(names), 0, 0, 1, 0)
    tables += section(0, 8, 3, 0, 0, 4 * count, 0, 0, 4, 0)
    tables += section(0, 2, 0, 0, 64 + len(names), len(symbols), 0, 0, 8, 24)
    head = Struct("<16sHHIQQQIHHHHHH").pack(
        *(b"\x7fELF\x02\x01\x01", 2, 190, 1, 0, 0, 64 + len(names) + len(symbols), 0),
        *(64, 0, 0, 64, 3, 0),
    )
    return head + names + symbols + tables


def _diagnostic(message: str) -> Diagnostic:
    return Diagnostic(severity="error", stage="ttir", message=message)


SENT: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "ABI": (_abi, ("tensordesc<fp16[", "1,", "tensordesc", "*", ":16")),
    "assertions on a GPU": (
        lambda text: gpu_outcome.find_assertion(text, 1),
        ("a:1: f: block: [0,0,0], ", "Assertion `", "` failed", "block: [1,", "a:1: "),
    ),
    "compute-sanitizer": (
        sanitizer_report.read,
        (
            "========= Invalid __global__ write of size 1\n",
            "=========     at in a:1\n",
            "Address 0x1",
        ),
    ),
    "ncu's source page": (
        lambda text: source_counters.read(f'"Address","Source","stall_lg"\n{text}'),
        ('"0x10","NOP","1"\n', '"Address","Source"\n', '"0x', '","', '"a', "\n"),
    ),
    "counters of SASS": (
        lambda text: hot_lines.hot_lines(
            [hot_lines.CountedInstruction(0, text, 1, 1, {})], text, "k"
        ),
        (
            '\t.section\t.text.k,"ax"\n',
            '\t//## File "/kernel/a", line 1\n',
            "  /*0000*/ A\n",
            "/*0000",
            " @P0 ",
            ".section  ",
        ),
    ),
    "ncu": (profile_report.read, ('"a",', "gpu__time_duration.sum", "\n")),
    "symbols of a module": (
        lambda text: module_globals.read_globals(_module(text)),
        ("a\0", "printfFormat_0\0", "$__", "__1", "switch_$_table$"),
    ),
    "frames": (lambda text: frame.Decoder().feed(FRAME * (len(text) // 16)), ()),
    "a frame's header": (
        lambda text: frame.Decoder().feed(_framed(text)),
        ('{"a":', "[", '"a",', "1e", "\\ud800"),
    ),
    "diagnostics": (
        lambda text: kept_diagnostics([_diagnostic(line) for line in text.split("\n")]),
        ("a\n",),
    ),
    "types": (canonical_type, ("*", "tensordesc<fp16[", "pointer<", "const ", "tl.", "<", ",")),
    "a signature": (
        lambda text: parse_specialization(text, {}, {}),
        ("*fp32:16,", "tensordesc<fp16[1,", "<", "1,", ":16"),
    ),
    "grids": (lambda text: parse_grid([text]), ("cdiv(", "n+", "(", "1_", "-")),
    "annotations": (annotated_type, ("tl.pointer_type(", "a.", "pointer_type(a,", "'")),
    "targets": (parse_target, ("cuda:", "hip:gfx", "9")),
    ".npy headers": (
        lambda text: read_npy_header(
            b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text.encode()
        ),
        ("{'descr': '<f4', ", "(1, ", "[", "1,"),
    ),
    "content types": (body._JSON_TYPE.fullmatch, ("application/json", ";", "charset=", "+json")),
    "Prefer": (lambda text: query._wait_in_prefer([text]), ("wait=", ",", ";", "wait=1", ".1")),
    "Accept-Encoding": (
        lambda text: validators.accepts(text, "zstd"),
        ("zstd;q=0", ",", ".0", "zstd;q="),
    ),
    "control characters": (printable, ("\x00", "\x9f")),
    "syntax errors": (
        lambda text: syntax_errors.failure_of(
            SyntaxError("bad", ("user.py", 1, 1, text, 1, 2)), text
        ),
        ("(", "print ", "def f(", "`"),
    ),
    "versions": (version_stub.parse, ("1.", "+a", "rc1", "-", "_")),
    "tapes": (
        lambda text: read_tape(text.encode()),
        ('{"ops": [', '{"op": "launch", ', '"ops": [], ', "[1, ", '"a\\', "1e", "{"),
    ),
}
