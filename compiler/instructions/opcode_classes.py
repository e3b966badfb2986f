"""The purpose of NVIDIA's and AMD's instructions: one class for each opcode, in a reviewed table.

The names of SASS are those of NVIDIA's "CUDA Binary Utilities", those of AMD of its instruction set
manuals. What no table knows is `other`, never a guess.
"""

import re
from collections.abc import Mapping

CLASSES = (
    "global_load",
    "global_store",
    "shared_load",
    "shared_store",
    "local",
    "constant_load",
    "atomic",
    "async_copy",
    "tensor",
    "tensor_memory",
    "fp32",
    "fp16",
    "fp64",
    "integer",
    "conversion",
    "special",
    "shuffle",
    "move",
    "control",
    "barrier",
    "other",
)
"""Every class, in the order in which they are answered.

`local` is memory of one thread's own: spills. `tensor` multiplies matrices, `tensor_memory` moves
what it works on. `fp16` is bfloat16 too, `special` are roots, exponentials and the like, `integer`
is all of addresses, comparisons and predicates. `async_copy` fills shared memory past registers.
"""

_SASS: Mapping[str, str] = {
    "global_load": "LDG LD LDGMC",
    "global_store": "STG ST",
    "shared_load": "LDS LDSM",
    "shared_store": "STS STSM STAS",
    "local": "LDL STL",
    "constant_load": "LDC LDCU",
    "atomic": "ATOM ATOMG ATOMS RED REDG REDAS",
    "async_copy": "LDGSTS UTMALDG UTMASTG UTMAREDG UTMAPF UBLKCP UBLKRED UBLKPF UTMACCTL",
    "tensor": "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA "
    "UTCHMMA UTCIMMA UTCQMMA UTCOMMA",
    "tensor_memory": "LDTM STTM LDT STT UTCCP UTCSHIFT UTCATOMSWS",
    "fp32": "FADD FADD2 FADD32I FCHK FFMA FFMA2 FFMA32I FMNMX FMNMX3 FMUL FMUL2 FMUL32I FSEL FSET "
    "FSETP FSWZADD FHADD FHFMA FADD3",
    "fp16": "HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMNMX HMUL2 HMUL2_32I HSET2 HSETP2 VHMNMX "
    "BMUL2 BADD2 BFMA2",
    "fp64": "DADD DFMA DMUL DSETP DMNMX DSET",
    "integer": "BFE BFI BMSK BREV FLO IABS IADD IADD2 IADD3 IADD32I IADD64 IDP IDP4A IMAD IMAD32I "
    "IMNMX IMNMX3 IMUL IMUL32I ISCADD ISCADD32I ISETP LEA LOP LOP3 LOP32I POPC SHF SHL SHR "
    "VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 XMAD SGXT ISET PSETP PSET PLOP3 PLOP LEPC "
    "ICMP UVIADD VIADD2 CSET CSETP",
    "conversion": "F2F F2FP F2I F2IP FRND I2F I2FP I2I I2IP HADD2.F32",
    "special": "MUFU RRO",
    "shuffle": "SHFL VOTE VOTEU MATCH REDUX CREDUX",
    "move": "MOV MOV32I MOVM MOV64IUR MOV64 PRMT SEL S2R S2UR CS2R R2UR R2P P2R B2R R2B P2UR UP2UR "
    "UR2UP BMOV IMAD.MOV GETLMEMBASE SETLMEMBASE R2T",
    "control": "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT BREAK BSSY BSYNC KILL BPT RTT RPCMOV NOP "
    "WARPSYNC YIELD NANOSLEEP ELECT PREEXIT ACQBULK USETMAXREG USETSHMSZ UVIRTCOUNT PMTRIG "
    "ENDCOLLECTIVE WARPGROUPSET SETCTAID UGETNEXTWORKID",
    "barrier": "BAR DEPBAR LDGDEPBAR MEMBAR ERRBAR FENCE SYNCS ARRIVES CCTL CCTLL CCTLT WARPGROUP "
    "UTCBAR UTMACMDFLUSH UCGABAR_ARV UCGABAR_WAIT CGAERRBAR ACQSHMINIT",
}
_CLASS_OF_SASS = {name: kind for kind, names in _SASS.items() for name in names.split()}
_MAKES_A_CONSTANT = re.compile(r"\s*U?R\w+\s*,\s*-URZ|\s*U?R\w+\s*,\s*-RZ\s*,\s*RZ\s*,")
_WIDENS_A_HALF = re.compile(r"\s*U?R\w+\s*,\s*-U?RZ\s*,")


def sass_class(opcode: str, operands: str) -> str:
    """Return the class of an instruction of SASS, with `opcode` as nvdisasm writes it.

    Assemblers also write moves and conversions as arithmetic with zero, which the operands tell.
    """
    base, _, modifiers = opcode.partition(".")
    if base == "IMAD" and modifiers.startswith("MOV"):
        return "move"
    if base == "HFMA2" and _MAKES_A_CONSTANT.match(operands):
        return "move"
    if base == "HADD2" and modifiers.startswith("F32") and _WIDENS_A_HALF.match(operands):
        return "conversion"
    known = _CLASS_OF_SASS.get(base)
    if known is None and base.startswith("U"):  # on the uniform datapath: one for all of a warp
        known = _CLASS_OF_SASS.get(base[1:])
    return known or "other"


_SASS_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
_AMD_BYTES = {
    **dict.fromkeys(("ubyte", "sbyte", "byte", "u8", "i8", "b8"), 1),
    **dict.fromkeys(("ushort", "sshort", "short", "u16", "i16", "b16"), 2),
    **{f"dwordx{count}": 4 * count for count in (2, 3, 4)},
    **{f"b{bits}": bits // 8 for bits in (64, 96, 128)},
}
_WORD_BYTES = 4


def local_bytes(opcode: str) -> int:
    """Return how many bytes of local memory a thread moves by an instruction of class `local`."""
    if opcode.startswith(("STL", "LDL")):
        sizes = [_SASS_BYTES[part] for part in opcode.split(".") if part in _SASS_BYTES]
    else:
        sizes = [_AMD_BYTES[part] for part in opcode.split("_") if part in _AMD_BYTES]
    return sizes[0] if sizes else _WORD_BYTES


_AMD = (
    ("tensor", r"v_(?:mfma|smfmac|wmma|swmmac)_"),
    ("local", r"scratch_"),
    (
        "async_copy",
        r"(?:global|buffer)_load_(?:lds|async)|global_store_async|tensor_(?:load|store)_"
        r"|global_prefetch_",
    ),
    ("barrier", r"s_barrier|s_wait|s_dcache_|s_icache_|(?:buffer|global)_(?:inv|wb|gl\d)"),
    ("atomic", r"(?:global|buffer|flat)_atomic_"),
    ("global_load", r"(?:global|buffer|flat)_load_"),
    ("global_store", r"(?:global|buffer|flat)_store_"),
    ("shuffle", r"ds_b?permute_|ds_swizzle_|v_permlane|v_mov_b32_dpp|v_readlane_|v_writelane_"),
    ("shared_load", r"ds_(?:read|load)"),
    ("shared_store", r"ds_(?:write|store)"),
    ("atomic", r"ds_"),
    ("constant_load", r"s_(?:buffer_)?load_"),
    ("special", r"v_(?:s_)?(?:exp|log|rcp|rsq|sqrt|sin|cos|tanh)_|v_rcp_iflag"),
    ("conversion", r"v_cvt_|s_cvt_|v_(?:dual_)?(?:rndne|floor|ceil|trunc|fract)_"),
    (
        "move",
        r"[vs]_(?:dual_|pk_)?(?:c?mov|cndmask|cselect|movrel|swap|perm|pack|bcnt_pack)|v_accvgpr_"
        r"|v_readfirstlane|s_getreg|s_pack|v_alignb|v_prng",
    ),
    (
        "control",
        r"s_(?:c?branch|cbranch|endpgm|nop|setpc|swappc|getpc|call|sleep|setprio|sethalt|sendmsg|trap"
        r"|delay_alu|clause|code_end|setreg|set_gpr|inst_prefetch|prefetch|version|round_mode"
        r"|denorm_mode|set_vgpr|set_inst|wakeup|sched|getshader|memtime|memrealtime|singleuse)|v_nop",
    ),
)
_AMD_PATTERN = re.compile(
    "|".join(f"(?P<{kind}_{at}>{words})" for at, (kind, words) in enumerate(_AMD))
)
_AMD_SUFFIX = re.compile(r"_(?:e32|e64|dpp|sdwa|e64_dpp|dpp8|gfx\d+)$")
_AMD_TYPE = {"f32": "fp32", "xf32": "fp32", "f16": "fp16", "bf16": "fp16", "f64": "fp64"}
_AMD_INTEGER = re.compile(r"[iub]\d+(?:x\d+)?")
_SPILL = re.compile(r"Folded (?:Spill|Reload)")


def amd_class(opcode: str, operands: str, comment: str) -> str:
    """Return the class of an AMD instruction, by the beginning and the end of its name.

    `comment` is what LLVM wrote behind it: of older GPUs it alone tells a spill to memory from a
    store to a buffer.
    """
    match = _AMD_PATTERN.match(opcode)
    if match is not None and match.lastgroup is not None:
        kind = match.lastgroup.rpartition("_")[0]
        if kind in {"global_load", "global_store"} and _SPILL.search(comment):
            return "local"
        if kind == "global_load" and operands.rstrip().endswith(" lds"):
            return "async_copy"
        return kind
    if not opcode.startswith(("v_", "s_")):
        return "other"
    last = _AMD_SUFFIX.sub("", opcode).rpartition("_")[2]
    return _AMD_TYPE.get(last) or ("integer" if _AMD_INTEGER.fullmatch(last) else "other")
