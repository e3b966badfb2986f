"""The kernel that compares what runs left, as PTX, so that it suits every GPU.

`table` (0: an empty one) has rows of eight numbers: addresses of a run's memory, of the memory it
is compared with and of the copy to keep (0: none); how many units of how many bytes (1, 2, 4, 16);
the poison in 32 bits, and the bytes of an element that consists of it (1, 2, 4; 0: none does); how
many rows there are from this one on. Parameters are no more than every kernel has: what follows its
own, a kernel can read. A tally has bytes that differ, those of differing elements that are poison,
the weight of the worst run before it, and a ticket by which the last block knows that all others
are done: it writes the worst weight so far into the next tally, and where this run is the worst it
copies the run's memory.
"""

ENTRY = b"compare_runs"
PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry compare_runs(
    .param .u64 table, .param .u64 tally)
{
    .reg .pred %p<4>, %half, %wide, %widest, %same, %keeps;
    .reg .b32 %r<20>, %poison, %entry, %entries, %unit, %item, %x<4>, %a<4>;
    .reg .b64 %rd<20>, %out, %other, %kept, %count, %at, %step, %first, %table, %tally, %end;
    .reg .b64 %differing, %left;
    .shared .align 8 .b64 sums[2];
    .shared .align 4 .b32 last;

    ld.param.u64 %table, [table];
    ld.param.u64 %tally, [tally];
    mov.u32 %entries, 0;
    setp.eq.u64 %p1, %table, 0;
    @!%p1 ld.global.u32 %entries, [%table+56];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %nctaid.x;
    cvt.u64.u32 %first, %r1;
    mul.wide.u32 %rd1, %r3, %r2;
    add.u64 %first, %first, %rd1;
    mul.wide.u32 %step, %r4, %r2;
    mov.u64 %differing, 0;
    mov.u64 %left, 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    mov.u64 %rd1, 0;
    st.shared.u64 [sums], %rd1;
    st.shared.u64 [sums+8], %rd1;
READY:
    bar.sync 0;
    mov.u32 %entry, 0;
ENTRIES:
    setp.ge.u32 %p1, %entry, %entries;
    @%p1 bra SUM;
    mul.wide.u32 %rd1, %entry, 64;
    add.u64 %rd1, %rd1, %table;
    ld.global.u64 %out, [%rd1];
    ld.global.u64 %other, [%rd1+8];
    ld.global.u64 %count, [%rd1+24];
    ld.global.u64 %rd2, [%rd1+32];
    cvt.u32.u64 %unit, %rd2;
    ld.global.u64 %rd2, [%rd1+40];
    cvt.u32.u64 %poison, %rd2;
    ld.global.u64 %rd2, [%rd1+48];
    cvt.u32.u64 %item, %rd2;
    setp.eq.u32 %widest, %unit, 16;
    setp.eq.u32 %wide, %unit, 4;
    setp.eq.u32 %half, %unit, 2;
    mov.u64 %at, %first;
ELEMENTS:
    setp.ge.u64 %p1, %at, %count;
    @%p1 bra NEXT;
    mov.u32 %x1, 0;
    mov.u32 %x2, 0;
    mov.u32 %x3, 0;
    @%widest bra SIXTEEN;
    @%wide bra FOUR;
    @%half bra TWO;
    add.u64 %rd4, %out, %at;
    add.u64 %rd5, %other, %at;
    ld.global.cs.u8 %a0, [%rd4];
    ld.global.cs.u8 %r6, [%rd5];
    xor.b32 %x0, %a0, %r6;
    bra LOADED;
TWO:
    shl.b64 %rd3, %at, 1;
    add.u64 %rd4, %out, %rd3;
    add.u64 %rd5, %other, %rd3;
    ld.global.cs.u16 %a0, [%rd4];
    ld.global.cs.u16 %r6, [%rd5];
    xor.b32 %x0, %a0, %r6;
    bra LOADED;
FOUR:
    shl.b64 %rd3, %at, 2;
    add.u64 %rd4, %out, %rd3;
    add.u64 %rd5, %other, %rd3;
    ld.global.cs.u32 %a0, [%rd4];
    ld.global.cs.u32 %r6, [%rd5];
    xor.b32 %x0, %a0, %r6;
    bra LOADED;
SIXTEEN:
    shl.b64 %rd3, %at, 4;
    add.u64 %rd4, %out, %rd3;
    add.u64 %rd5, %other, %rd3;
    ld.global.cs.v4.u32 {%a0, %a1, %a2, %a3}, [%rd4];
    ld.global.cs.v4.u32 {%x0, %x1, %x2, %x3}, [%rd5];
    xor.b32 %x0, %x0, %a0;
    xor.b32 %x1, %x1, %a1;
    xor.b32 %x2, %x2, %a2;
    xor.b32 %x3, %x3, %a3;
LOADED:
    or.b32 %r7, %x0, %x1;
    or.b32 %r8, %x2, %x3;
    or.b32 %r7, %r7, %r8;
    setp.eq.u32 %same, %r7, 0;
    @%same bra ADVANCE;
    setp.eq.u32 %p2, %x0, 0;
    @%p2 bra WORD;
    setp.eq.u32 %p2, %item, 4;
    setp.eq.and.u32 %p3, %a0, %poison, %p2;
    @%p3 add.u64 %left, %left, 4;
    setp.ne.u32 %p2, %item, 2;
    @%p2 bra BYTES;
    xor.b32 %r10, %a0, %poison;
    and.b32 %r11, %r10, 0xFFFF;
    and.b32 %r13, %x0, 0xFFFF;
    setp.ne.u32 %p2, %r13, 0;
    setp.eq.and.u32 %p3, %r11, 0, %p2;
    @%p3 add.u64 %left, %left, 2;
    shr.u32 %r11, %r10, 16;
    shr.u32 %r13, %x0, 16;
    setp.ne.u32 %p2, %r13, 0;
    setp.eq.and.u32 %p3, %r11, 0, %p2;
    @%p3 add.u64 %left, %left, 2;
BYTES:
    setp.eq.u32 %p2, %x0, 0;
    @%p2 bra WORD;
    and.b32 %r8, %x0, 255;
    setp.eq.u32 %p2, %r8, 0;
    @%p2 bra EQUAL;
    add.u64 %differing, %differing, 1;
    and.b32 %r9, %a0, 255;
    and.b32 %r10, %poison, 255;
    setp.eq.u32 %p2, %item, 1;
    setp.eq.and.u32 %p3, %r9, %r10, %p2;
    @%p3 add.u64 %left, %left, 1;
EQUAL:
    shr.u32 %x0, %x0, 8;
    shr.u32 %a0, %a0, 8;
    bra BYTES;
WORD:  // the next of up to four
    mov.u32 %x0, %x1;
    mov.u32 %x1, %x2;
    mov.u32 %x2, %x3;
    mov.u32 %x3, 0;
    mov.u32 %a0, %a1;
    mov.u32 %a1, %a2;
    mov.u32 %a2, %a3;
    bra LOADED;
ADVANCE:
    add.u64 %at, %at, %step;
    bra ELEMENTS;
NEXT:
    add.u32 %entry, %entry, 1;
    bra ENTRIES;
SUM:
    setp.eq.u64 %p1, %differing, 0;
    @%p1 bra SUMMED;
    atom.shared.add.u64 %rd7, [sums], %differing;
    atom.shared.add.u64 %rd7, [sums+8], %left;
SUMMED:
    bar.sync 0;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra TOLD;
    ld.shared.u64 %differing, [sums];
    ld.shared.u64 %left, [sums+8];
    setp.eq.u64 %p2, %differing, 0;
    @%p2 bra TICKET;
    atom.global.add.u64 %rd7, [%tally], %differing;
    atom.global.add.u64 %rd7, [%tally+8], %left;
TICKET:
    membar.gl;
    atom.global.add.u32 %r10, [%tally+24], 1;
    sub.u32 %r11, %r4, 1;
    setp.eq.u32 %p2, %r10, %r11;
    selp.u32 %r12, 1, 0, %p2;
    st.shared.u32 [last], %r12;
TOLD:
    bar.sync 0;
    ld.shared.u32 %r12, [last];
    setp.eq.u32 %p1, %r12, 0;
    @%p1 bra DONE;
    membar.gl;
    ld.volatile.global.u64 %rd8, [%tally];
    ld.volatile.global.u64 %rd9, [%tally+8];
    ld.volatile.global.u64 %rd10, [%tally+16];
    min.u64 %rd8, %rd8, 0xFFFFFFFF;
    min.u64 %rd9, %rd9, 0x7FFFFFFF;
    shl.b64 %rd9, %rd9, 32;
    or.b64 %rd11, %rd8, %rd9;
    setp.gt.u64 %keeps, %rd11, %rd10;
    max.u64 %rd12, %rd11, %rd10;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra COPY;
    st.global.u64 [%tally+48], %rd12;
COPY:
    @!%keeps bra DONE;
    cvt.u64.u32 %step, %r2;
    mov.u32 %entry, 0;
KEPT:
    setp.ge.u32 %p1, %entry, %entries;
    @%p1 bra DONE;
    mul.wide.u32 %rd1, %entry, 64;
    add.u64 %rd1, %rd1, %table;
    ld.global.u64 %out, [%rd1];
    ld.global.u64 %kept, [%rd1+16];
    ld.global.u64 %count, [%rd1+24];
    ld.global.u64 %rd2, [%rd1+32];
    mul.lo.u64 %count, %count, %rd2;  // bytes, of which a unit is 1, 2, 4 or 16
    cvt.u64.u32 %at, %r1;
    setp.lt.u64 %wide, %rd2, 4;
    @%wide bra NARROW;
    shr.u64 %count, %count, 2;
NARROW:
    setp.eq.u64 %p1, %kept, 0;
    @%p1 bra KEPT_NEXT;
KEEP:
    setp.ge.u64 %p1, %at, %count;
    @%p1 bra KEPT_NEXT;
    @%wide bra KEEP_BYTE;
    shl.b64 %rd3, %at, 2;
    add.u64 %rd4, %out, %rd3;
    add.u64 %rd5, %kept, %rd3;
    ld.global.cg.u32 %r5, [%rd4];
    st.global.u32 [%rd5], %r5;
    add.u64 %at, %at, %step;
    bra KEEP;
KEEP_BYTE:
    add.u64 %rd4, %out, %at;
    add.u64 %rd5, %kept, %at;
    ld.global.cg.u8 %r5, [%rd4];
    st.global.u8 [%rd5], %r5;
    add.u64 %at, %at, %step;
    bra KEEP;
KEPT_NEXT:
    add.u32 %entry, %entry, 1;
    bra KEPT;
DONE:
    ret;
}
\0"""
