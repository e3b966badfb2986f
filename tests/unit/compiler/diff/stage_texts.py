"""A text for every compared stage, and the user-chosen names in it."""

TTIR = """\
#loc = loc("/kernel/user.py":3:1)
module {
  tt.func public @k(%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x_ptr"(#loc)), %n: i32 loc("n"(#loc))) attributes {noinline = false} {
    %cst = arith.constant dense<0.000000e+00> : tensor<64xf32> loc(#loc1)
    %c1_i32 = arith.constant 1 : i32 loc(#loc1)
    %0 = tt.get_program_id x : i32 loc(#loc2)
    %1 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc3)
    %2 = tt.splat %x_ptr : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc(#loc3)
    %3:2 = scf.for %i = %c1_i32 to %n step %c1_i32 iter_args(%a = %cst, %p = %2) -> (tensor<64xf32>, tensor<64x!tt.ptr<f32>>)  : i32 {
      %4 = tt.load %p : tensor<64x!tt.ptr<f32>> loc(#loc4)
      %5 = arith.addf %a, %4 : tensor<64xf32> loc(#loc5)
      %6 = tt.addptr %p, %1 : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(callsite(#loc4 at #loc5))
      scf.yield %5, %6 : tensor<64xf32>, tensor<64x!tt.ptr<f32>> loc(#loc6)
    } loc(#loc6)
    tt.store %2, %3#0 : tensor<64x!tt.ptr<f32>> loc(#loc7)
    tt.return loc(#loc7)
  } loc(#loc)
} loc(#loc)
#loc1 = loc(unknown)
"""  # noqa: E501
LLIR = """\
; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
define ptx_kernel void @k(ptr addrspace(1) %0, i32 %1) local_unnamed_addr #0 !dbg !4 {
  %3 = add i32 %1, 1, !dbg !7
  br label %4, !dbg !7
4:                                                ; preds = %2, %4
  %5 = phi i32 [ 0, %2 ], [ %6, %4 ]
  %6 = add i32 %5, 1, !dbg !8
  %7 = icmp slt i32 %6, %3
  br i1 %7, label %4, label %8, !llvm.loop !9
8:                                                ; preds = %4
  ret void, !dbg !8
}
attributes #0 = { nounwind "nvvm.reqntid"="128" }
!llvm.dbg.cu = !{!1}
!4 = distinct !DISubprogram(name: "k", scope: !1, line: 3)
!7 = !DILocation(line: 4, column: 1, scope: !4)
!8 = !DILocation(line: 5, column: 1, scope: !4)
!9 = distinct !{!9, !10}
!10 = !{!"llvm.loop.unroll.disable"}
"""
PTX = """\
.version 8.4
.target sm_90a
.visible .entry k(
\t.param .u64 k_param_0
)
.reqntid 128
{
\t.reg .pred \t%p<3>;
\t.reg .b32 \t%r<9>;
$L__func_begin0:
\t.loc\t1 12 0                          // user.py:12:0
// %bb.0:
\tld.param.b64 \t%rd1, [k_param_0];
$L__tmp0:
\tmov.u32 \t%r1, %tid.x;
\tshl.b32 \t%r2, %r1, 2;
$L__BB0_1:                              // =>This Inner Loop Header
\tadd.s32 \t%r3, %r2, %r1;
\tsub.s32 \t%r4, %r3, %r2;
\tsetp.lt.s32 \t%p1, %r4, 64;
\t@%p1 bra \t$L__BB0_1;
\tst.global.b32 [ %rd1 + 0 ], { %r4 };
\tret;
$L__func_end0:
}
\t.file\t1 "/kernel/user.py"
\t.section\t.debug_abbrev
\t{
.b8 1                                   // Abbreviation Code
.b8 17
\t}
"""
SASS = """\
\t.section\t.text.k,"ax",@progbits
k:
.text.k:
\t//## File "/kernel/user.py", line 12
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_TID.X ;
.L_x_0:
        /*0020*/                   IADD3 R2, R0, 0x1, RZ ;
        /*0030*/                   IADD3 R3, R2, -R0, RZ ;
        /*0040*/                   FADD R5, R3, R2.reuse ;
        /*0050*/              @!P0 BRA `(.L_x_0) ;
        /*0060*/                   STG.E desc[UR4][R2.64], R5 ;
        /*0070*/                   EXIT ;
.L_x_1:
        /*0080*/                   BRA `(.L_x_1);
        /*0090*/                   NOP;
"""
AMD = """\
\t.text
\t.amdhsa_code_object_version 5
k:                                      ; @k
.Lfunc_begin0:
\t.loc\t1 12 0                          ; user.py:12:0
\ts_load_dwordx2 s[2:3], s[0:1], 0x0
.LBB0_1:                                ; =>This Inner Loop Header
\tv_add_u32_e32 v1, v0, v2
\tv_sub_u32_e32 v3, v1, v2
.Ltmp0:
\ts_cbranch_scc1 .LBB0_1
\tglobal_store_dword v0, v1, s[2:3]
\ts_endpgm
\t.section\t.debug_abbrev,"",@progbits
\t.byte\t1                               ; Abbreviation Code
"""
TEXTS = {"ttir": TTIR, "llir": LLIR, "ptx": PTX, "sass": SASS, "amdgcn": AMD}
NAMES = {
    "ttir": r"%(?:[\w.]+)",
    "llir": r"%\d+",
    "ptx": r"%(?:r|rd|p)\d+\b",
    "sass": r"\.L_x_\d+",
    "amdgcn": r"\.LBB0_\d+",
}
