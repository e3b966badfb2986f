"""Each opcode has one class; unlisted opcodes are `other`."""

import pytest

from compiler.instructions.opcode_classes import CLASSES, amd_class, local_bytes, sass_class

SASS = {
    "LDG.E.128 R4, desc[UR4][R2.64]": "global_load",
    "STG.E desc[UR4][R2.64], R5": "global_store",
    "LDSM.16.M88.4 R8, [R3]": "shared_load",
    "STS.128 [R2], R4": "shared_store",
    "LDL R4, [R1+0x8]": "local",
    "STL.64 [R1], R4": "local",
    "LDC.64 R2, c[0x0][0x210]": "constant_load",
    "ULDC.64 UR4, c[0x0][0x208]": "constant_load",
    "ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R0, desc[UR4][R2.64], R3": "atomic",
    "LDGSTS.E.BYPASS.128 [R3], desc[UR4][R4.64]": "async_copy",
    "UTMALDG.2D [UR8], [UR4], desc[UR6]": "async_copy",
    "UBLKCP [UR8], [UR4], UR6": "async_copy",
    "HMMA.16816.F32 R4, R8, R10, R4": "tensor",
    "HGMMA.64x128x16.F32 R24, gdesc[UR4], R24, !UPT": "tensor",
    "QGMMA.64x64x32.F32.E4M3.E4M3 R24, gdesc[UR4], R24": "tensor",
    "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UPT": "tensor",
    "LDTM.x32 R4, tmem[UR4]": "tensor_memory",
    "FFMA R4, R5, R6, R7": "fp32",
    "UFADD UR4, UR5, UR6": "fp32",
    "HFMA2.BF16_V2 R4, R5, R6, R7": "fp16",
    "DFMA R4, R6, R8, R10": "fp64",
    "IMAD.WIDE R2, R3, 0x4, R4": "integer",
    "UIADD3 UR4, UR5, UR6, URZ": "integer",
    "ISETP.GE.AND P0, PT, R0, R1, PT": "integer",
    "F2FP.BF16.F32.PACK_AB R4, R5, R6": "conversion",
    "MUFU.EX2 R4, R4": "special",
    "SHFL.BFLY PT, R5, R4, 0x10, 0x1f": "shuffle",
    "MOV R4, R5": "move",
    "R2UR UR4, R3": "move",
    "BRA `(.L_x_0)": "control",
    "BAR.SYNC.DEFER_BLOCKING 0x0": "barrier",
    "WARPGROUP.DEPBAR.LE gsb0, 0x1": "barrier",
}
AMD = {
    "global_load_dwordx4 v[2:5], v[0:1], off": "global_load",
    "buffer_store_dword v1, v2, s[4:7], 0 offen": "global_store",
    "buffer_load_dword v1, s[4:7], 0 offen lds": "async_copy",
    "global_load_lds_dwordx4 v[0:1], off": "async_copy",
    "ds_read_b128 v[2:5], v1": "shared_load",
    "ds_store_b64 v1, v[2:3]": "shared_store",
    "ds_add_rtn_u32 v1, v2, v3": "atomic",
    "global_atomic_add_f32 v0, v1, s[2:3]": "atomic",
    "scratch_store_dword off, v1, s32": "local",
    "s_load_dwordx2 s[2:3], s[0:1], 0x0": "constant_load",
    "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]": "tensor",
    "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]": "tensor",
    "v_fma_f32 v0, v1, v2, v3": "fp32",
    "v_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5": "fp32",
    "v_pk_fma_f16 v0, v1, v2, v3": "fp16",
    "v_add_f64_e64 v[0:1], v[2:3], v[4:5]": "fp64",
    "v_mad_u64_u32 v[0:1], s[2:3], v2, v3, v[4:5]": "integer",
    "s_and_saveexec_b64 s[0:1], vcc": "integer",
    "v_cmp_gt_i32_e64 s[0:1], s9, v2": "integer",
    "v_cvt_f16_f32_e32 v0, v1": "conversion",
    "v_exp_f32_e32 v0, v1": "special",
    "ds_bpermute_b32 v0, v1, v2": "shuffle",
    "v_add_f32_dpp v0, v1, v2 row_shr:1": "fp32",
    "v_accvgpr_read_b32 v0, a0": "move",
    "v_cndmask_b32_e64 v0, 0, 1, s[0:1]": "move",
    "s_cbranch_execz .LBB0_2": "control",
    "s_waitcnt vmcnt(0)": "barrier",
    "s_barrier": "barrier",
}


@pytest.mark.parametrize(("text", "kind"), SASS.items())
def test_a_class_of_sass(text: str, kind: str) -> None:
    opcode, _, operands = text.partition(" ")

    assert sass_class(opcode, operands) == kind


@pytest.mark.parametrize(("text", "kind"), AMD.items())
def test_a_class_of_amd_assembly(text: str, kind: str) -> None:
    opcode, _, operands = text.partition(" ")

    assert amd_class(opcode, operands, "") == kind


def test_arithmetic_with_zero_is_the_move_that_it_does() -> None:
    assert sass_class("IMAD.MOV.U32", " R1, RZ, RZ, R2") == "move"
    assert sass_class("HFMA2", " R9, -RZ, RZ, 0.5, 16") == "move"
    assert sass_class("HFMA2.MMA", " R9, -RZ, RZ, 0.5, 16") == "move"
    assert sass_class("HFMA2", " R9, R1, R2, R3") == "fp16"


def test_a_half_added_to_zero_is_converted() -> None:
    assert sass_class("HADD2.F32", " R0, -RZ, R0.H0_H0") == "conversion"
    assert sass_class("HADD2.F32", " R0, R1.H0_H0, R0.H0_H0") == "fp16"


def test_a_spill_of_an_older_amd_gpu_is_reported_by_its_comment() -> None:
    operands, comment = " v1, off, s[0:3], 0 offset:4", "; 4-byte Folded Spill"

    assert amd_class("buffer_store_dword", operands, comment) == "local"
    assert amd_class("buffer_store_dword", operands, "") == "global_store"


@pytest.mark.parametrize(
    ("opcode", "size"),
    [
        ("STL", 4),
        ("LDL.LU.64", 8),
        ("STL.128", 16),
        ("LDL.U8", 1),
        ("scratch_store_dword", 4),
        ("scratch_load_dwordx3", 12),
        ("scratch_load_b96", 12),
        ("scratch_store_b32", 4),
        ("buffer_store_dword", 4),
        ("scratch_load_ushort", 2),
    ],
)
def test_an_access_of_a_threads_own_memory_has_a_size(opcode: str, size: int) -> None:
    assert local_bytes(opcode) == size


def test_an_unknown_opcode_is_not_guessed() -> None:
    assert sass_class("FROB.E", " R1") == "other"
    assert sass_class("U", "") == "other"
    assert amd_class("q_frob", "", "") == "other"


def test_every_class_is_listed() -> None:
    named = {*SASS.values(), *AMD.values(), "other"}

    assert named == set(CLASSES)
