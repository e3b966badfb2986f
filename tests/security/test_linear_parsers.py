"""Whoever sends twice as much text costs twice as much time: no parser of ours is slower than that.

Each is given texts that backtracking and repeated scans are slow on, in doubling sizes. What counts
is how the time grows, not how long it is.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from struct import Struct

import pytest
from tritonc.diagnostic import printable

import compiler
import launch
import service
import store
import worker
from compiler.abi import abi_of
from compiler.back import amdgcn, inline_assembly, ir_repairs, mlir_log, passes, ptxas
from compiler.compilation import Parameter
from compiler.diagnostic import Diagnostic, Span, diagnostic, excerpt, without_addresses
from compiler.diff import stage_text
from compiler.export.exported_kernel import NotExportable
from compiler.export.ptx import read_entry
from compiler.front.diagnosis import wording
from compiler.front.stubs import version_stub
from compiler.instructions import instruction_mix
from compiler.lines import assembly, hot_lines, llvm_ir, mlir, sass
from compiler.numpy_module import generic_form
from compiler.numpy_module.refusal import Untranslatable
from compiler.rejection import RequestRejected
from compiler.request.signature import parse_specialization
from compiler.slice import syntax_errors
from compiler.target import parse_target
from compiler.type_name import canonical_type
from launch.buffers.npy_header import read_npy_header
from launch.checks import precision_causes
from launch.request.grid import parse_grid
from launch.request.inference import annotated_type
from service.http import body, content_coding, query
from service.http.problems import ProblemRaised
from worker.compile.diagnostic_bounds import kept_diagnostics
from worker.gpu.evidence import module_globals
from worker.gpu.tools import profile_report, sanitizer_report, source_counters
from worker.launch.gpu import gpu_outcome
from worker.pool import frame

FIRST, LAST = 1 << 11, 1 << 14
"""Characters: enough to tell cubic and quadratic from linear, after a few doublings."""
SOON_S = 0.001
"""Of the first: even what is cubic is done with the last half a second later."""
MOST_GROWTH = 3.3
"""Of one doubling, where 2 is linear and 4 quadratic."""
TOO_SHORT_TO_TELL_S = 0.004
REFUSALS = (
    RequestRejected,
    Untranslatable,
    profile_report.NoProfile,
    NotExportable,
    ValueError,
    frame.FrameError,
    SyntaxError,
    ProblemRaised,
)

TARGET = parse_target("cuda:90")
METADATA = {"name": "k", "num_warps": 4, "shared": 0}
FRAME = frame.encode(frame.NO_JOB, {})


def _abi(text: str) -> object:
    parameter = Parameter(name="x", type=text, role="runtime", hints=[], value=None)
    return abi_of(TARGET, [parameter], METADATA)


PARSERS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "MLIR's log": (
        lambda text: mlir_log.diagnostics(text, {"/kernel/user.py": text}, "ttgir"),
        ("/kernel/user.py:1:1: error: ", "Assertion `", "' failed", "LLVM ERROR: ", 'loc("a":1:1)'),
    ),
    "MLIR in generic form": (
        lambda text: generic_form.module_of(f'"builtin.module"() ({{{text}}}) : () -> ()'),
        (
            '"a"() <{b = [1, "c"]}> : () -> () loc(#loc)\n',
            '%a, %b:2 = "a"(%a)[^b, ^c] : (i1, ',
            '#loc1 = loc("a"(#loc2))\n',
            "^a(%a: i1, ",
            '"a"() ({',
            '"a"() <{b = "\\',
            '"a"() <{b = 1] ',
        ),
    ),
    "names of loops": (
        generic_form.loop_names,
        (
            "scf.for %q_1 = %0 ",
            "%q = scf.for %q = ",
            "\n%q, ",
            "\n    ",
            "\n%a scf.for unsigned ",
            "_1",
            "%q_1_1",
            "%q:1",
        ),
    ),
    "MLIR's words": (
        mlir_log.reworded,
        ("'tt.load' op operand #1 must be 1-bit signless integer ", "but got 'tensor<1x", "1x"),
    ),
    "places of inline assembly": (
        lambda text: inline_assembly.with_places(
            [diagnostic("error", "llir", "inline asm")], text, {"/kernel/user.py": text}
        ),
        (
            '%1 = tt.elementwise_inline_asm "a" {constraints = "=r"} %1 : a loc(#loc1)\n',
            "#loc1 = loc(fused[#loc2, #loc1])\n",
            'elementwise_inline_asm "\\',
            'constraints = "',
            " loc(",
        ),
    ),
    "addresses": (without_addresses, (" at 0x7f00", "0x", " at ", "0x7f2a0c0de400: ")),
    "failed assertions": (
        wording.of_assertion,
        ("<failed to evaluate assertion message", ">, '", "NameError('", "')>"),
    ),
    "the failing pass": (mlir_log.failing_pass, ("Pipeline failed while executing [", "`a`")),
    "ptxas' resources": (ptxas.resources, ("Used 1", " bytes stack frame, 1", " bytes smem")),
    "ptxas' end": (lambda text: ptxas.slug_of(1, text), ("uses too ", "bad_all")),
    "ptxas' errors": (
        lambda text: ptxas.diagnostics(text, text, {"user.py": text}),
        ("ptxas a, line 1; error : ", "ptxas fatal : ", "ptxas", ", line ", '\t.file 1 "a" "b"\n'),
    ),
    "PTX's places": (
        lambda text: ptxas.user_place(text.split("\n"), 10**6),
        (
            "\t.loc 1 1 1\n",
            "\t.loc 1 1 1, inlined_at 1 1 1\n",
            '.file 1 "',
            "// begin inline asm\n",
        ),
    ),
    "AMD's resources": (amdgcn.resources, (".amdgpu_metadata\n", "  .a: 1", "; Occupancy: ")),
    "AMD's parameters": (
        amdgcn.parameter_sizes_bytes,
        (".amdgpu_metadata\n.args:", "      - .size: 1\n", ".end_amdgpu_metadata"),
    ),
    "excerpts": (lambda text: excerpt(text.split("\n"), Span("user.py", 1, 1)), ("\t", "#")),
    "ABI": (_abi, ("tensordesc<fp16[", "1,", "tensordesc", "*", ":16")),
    "lines of assembly": (
        assembly.map_assembly,
        (
            "\t.loc 1 1 1, inlined_at 1 1 1\n",
            '\t.file 1 "a"\n',
            "// @[ a:1",
            "\tadd.u32 %r1, %r2;\n",
        ),
    ),
    "lines of LLVM IR": (
        llvm_ir.map_llvm_ir,
        (
            "define x\n",
            "  %1 = a !dbg !1\n",
            "!1 = !DILocation(line: 1, scope: !1)\n",
            '!1 = !DIx(a: "',
        ),
    ),
    "lines of MLIR": (
        mlir.map_mlir,
        ("%1 = a loc(#loc1)\n", "#loc1 = loc(callsite(#loc1 at #loc1))\n", " loc(", "fused["),
    ),
    "the place of a line of MLIR": (
        lambda text: mlir.trailing_location(f"{text}[)"),
        (" loc(", " loc()", '"', "(", "[", "#loc1"),
    ),
    "TTIR to compare": (
        lambda text: stage_text.stage_lines("ttir", text),
        (' loc("', " loc(", '"a\\"', "%a = "),
    ),
    "LLVM IR to compare": (
        lambda text: stage_text.stage_lines("llir", text),
        ("!1 = !{!1}\n", ", !dbg !1", '"a\\"', "1:"),
    ),
    "assembly to compare": (
        lambda text: [stage_text.stage_lines(name, text) for name in ("ptx", "sass", "amdgcn")],
        (
            "\t.section .debug\n",
            "%r1",
            "$L__BB0_1",
            "/*0000*/ R1",
            ".L_x_1",
            "v[0:1]",
            "\ta ;",
            "//",
        ),
    ),
    "instructions of SASS": (
        lambda text: instruction_mix.instruction_mix("sass", text),
        (
            "  /*0000*/ @P0 A.B R1, -RZ, RZ\n",
            "  /*0000*/ HFMA2 R1,",
            "  /*0000*/ NOP\n",
            ".section",
        ),
    ),
    "instructions of AMD assembly": (
        lambda text: instruction_mix.instruction_mix("amdgcn", text),
        ("\tv_add_f32 v1 ; a\n", "\tbuffer_load_b v1 ; Folded", "; codeLenInByte = 1", "\tv_a_"),
    ),
    "lines of SASS": (sass.map_sass, ('\t//## File "a", line 1\n', "  /*0000*/ A\n", '"a", line ')),
    "comments of SASS": (
        lambda text: sass.with_source_lines(text, ""),
        ('\t//## File ".nv_debug_ptx_txt", line 1\n', "//##"),
    ),
    "an entry of PTX": (
        lambda text: read_entry(text, "a"),
        (
            ".visible .entry a(",
            ") \n{\n",
            ".global .align 1 .b8 a[1] = {0",
            "};\n",
            ".extern .shared ",
        ),
    ),
    "causes of lost precision": (
        lambda text: precision_causes.causes_in(
            f'tt.func public @k(\n{text}\n#loc1 = loc("/kernel/a.py":1:1)'
        ),
        (
            "tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<1xf32> -> f16 loc(#loc1)\n",
            "%a = arith.truncf %a : f32 to f16 loc(#loc1)\n",
            "scf.for %k = %a to %b step %c iter_args(%a = %b) -> (tensor<1xf16>) : i32 {\n",
            '%a = "tt.reduce"(%a) <{axis = 0}> ({\n',
            "%a = tt.call @k(%a) : (f16) -> f16\n",
            "tt.func private @k(%a: f16) {\n",
            "%a = arith.addf %a, %a : f16\n",
            "^bb0(%a: f16, ",
            "iter_args(",
            "tensor<",
            "maxNumImpreciseAcc = 1",
            "x" * 8 + "f16",
            " loc(",
            "}\n",
        ),
    ),
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
        lambda text: hot_lines.hot_lines([hot_lines.Counted(0, text, 1, 1, {})], text, "k"),
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
        lambda text: content_coding.accepts(text, "zstd"),
        ("zstd;q=0", ",", ".0", "zstd;q="),
    ),
    "control characters": (printable, ("\x00", "\x9f")),
    "repairs of IR": (
        lambda text: list(ir_repairs.attempts(text)),
        (
            "#loc1 = loc(",
            "loc(#loc1)",
            "loc(",
            "tensor<1x",
            "tensordesc<",
            '!tt.ptr<a, "constant">',
        ),
    ),
    "IR without locations": (ir_repairs.without_locations, (" loc(", 'loc("', "loc((", "#loc1 = ")),
    "dumps of passes": (
        lambda text: list(passes.read(text)),
        ("// -----// IR Dump Before a (b) //----- //\n", "// -----//", "IR Dump "),
    ),
    "messages of Triton": (
        wording.cleaned,
        ("constexpr[1]", "<[1], fp32>", "fp32[constexpr[", "tl.", "<class '", " (/a", "tensor("),
    ),
    "syntax errors": (
        lambda text: syntax_errors.failure_of(
            SyntaxError("bad", ("user.py", 1, 1, text, 1, 2)), text
        ),
        ("(", "print ", "def f(", "`"),
    ),
    "versions": (version_stub.parse, ("1.", "+a", "rc1", "-", "_")),
}
FOREIGN = frozenset({"cuda", "torch"})
"""What modules need that only GPU workers, or references in torch, have."""
UNITS = (
    " ",
    "\t",
    "\n",
    "a",
    "1",
    "_",
    ".",
    ",",
    ":",
    '"',
    "\\",
    "(",
    "<",
    "a:1:1: ",
    "a: ",
    "a 1\n",
)


def _framed(text: str) -> bytes:
    data = text.encode()
    return frame._PREFIX.pack(frame.MAGIC, frame.VERSION, frame.NO_JOB, len(data), 0) + data


def _module(text: str) -> bytes:
    """Return a module with a symbol for every eighth character of its table of names."""
    names = text.encode()
    count = min(module_globals.MOST_GLOBALS, len(names) // 8)
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


def _texts(units: tuple[str, ...]) -> Iterator[Callable[[int], str]]:
    """Yield makers of texts of about so many characters: a unit again and again, behind another."""
    for unit in (*units, *UNITS):
        yield lambda size, unit=unit: unit * (size // len(unit))
    for head, unit in itertools.product(units, (*units, *UNITS)):
        yield lambda size, head=head, unit=unit: head + unit * (size // len(unit))
        yield lambda size, head=head, unit=unit: (head + unit) * (size // len(head + unit))


def _spent_s(parse: Callable[[str], object], text: str, times: int = 1) -> float:
    def once() -> float:
        started = time.process_time()
        with contextlib.suppress(*REFUSALS):
            parse(text)
        return time.process_time() - started

    return min(once() for _ in range(times))


def _assert_linear(parse: Callable[[str], object], make: Callable[[int], str]) -> None:
    size, before_s = FIRST, _spent_s(parse, make(FIRST))
    if before_s <= SOON_S and _spent_s(parse, make(LAST)) <= TOO_SHORT_TO_TELL_S * MOST_GROWTH:
        return  # and what is between them takes no longer
    while size < LAST:
        size *= 2
        spent_s = _spent_s(parse, make(size))
        for times in (3, 5, 9):  # again where something else took time
            if spent_s <= max(before_s, TOO_SHORT_TO_TELL_S) * MOST_GROWTH:
                break
            before_s, spent_s = (_spent_s(parse, make(s), times) for s in (size // 2, size))
        assert spent_s <= max(before_s, TOO_SHORT_TO_TELL_S) * MOST_GROWTH, (
            f"{make(60)!r} ...: {before_s:.4f} s for {size // 2} characters, then {spent_s:.4f} s"
        )
        before_s = spent_s


@pytest.fixture(autouse=True)
def without_the_collector_of_garbage(unmeasured: None) -> Iterator[None]:
    """It looks at all that lives again and again, which is no doing of a parser."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", PARSERS)
def test_twice_the_text_takes_twice_the_time(name: str) -> None:
    parse, units = PARSERS[name]

    for make in _texts(units):
        _assert_linear(parse, make)


def _patterns() -> dict[str, re.Pattern[str]]:
    """Return every pattern that a module of the worker, the service or the store compiles."""
    found = {}
    for package in (worker, service, store, compiler, launch):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if ".__main__" in module.name:
                continue
            try:
                imported = importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if str(error.name).partition(".")[0] in FOREIGN:
                    continue
                raise
            for name, value in vars(imported).items():
                if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                    found[f"{module.name}.{name}"] = value
    return found


@pytest.mark.parametrize(("name", "pattern"), _patterns().items(), ids=_patterns())
def test_no_pattern_backtracks_over_what_it_repeats(name: str, pattern: re.Pattern[str]) -> None:
    words = tuple(dict.fromkeys(re.findall(r"[A-Za-z ]{3,}", pattern.pattern)))[:4]
    for make in _texts(words):
        _assert_linear(pattern.match, make)
        _assert_linear(pattern.fullmatch, make)
