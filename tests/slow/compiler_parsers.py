"""The parsers of compilers' texts: IR, assembly, messages; each with pieces of its input."""

from __future__ import annotations

from collections.abc import Callable

from compiler.back import amdgcn, contexts, mlir_log, passes, posted_ir, ptxas
from compiler.diagnostic import Span, diagnostic, excerpt, without_addresses
from compiler.diff import stage_text
from compiler.export.ptx import read_entry
from compiler.front.diagnosis import wording
from compiler.instructions import instruction_mix
from compiler.lines import assembly, line_map, mlir, sass
from compiler.ttir_to_numpy import generic_form

OF_COMPILERS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
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
        lambda text: mlir_log.with_places(
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
    "the module in what a failing pass says": (
        lambda text: contexts.log_without_module(text.encode()),
        ("#a = ", "#a.", "module ", "\n#-}\n", "\nmodule {\n#"),
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
        line_map.map_llvm_ir,
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
    "repairs of IR": (
        lambda text: list(posted_ir.attempts(text)),
        (
            "#loc1 = loc(",
            "loc(#loc1)",
            "loc(",
            "tensor<1x",
            "tensordesc<",
            '!tt.ptr<a, "constant">',
        ),
    ),
    "IR without locations": (posted_ir.without_locations, (" loc(", 'loc("', "loc((", "#loc1 = ")),
    "dumps of passes": (
        lambda text: list(passes.read(text)),
        ("// -----// IR Dump Before a (b) //----- //\n", "// -----//", "IR Dump "),
    ),
    "messages of Triton": (
        wording.cleaned,
        ("constexpr[1]", "<[1], fp32>", "fp32[constexpr[", "tl.", "<class '", " (/a", "tensor("),
    ),
}
