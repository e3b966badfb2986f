"""The kernel that draws uniform numbers as NumPy's Philox does, as PTX, so that it suits every GPU.

`table` is a row of seven numbers: where the numbers go, how many there are, the two words of the
generator's key, the lowest number and the width of the range (float64), and the bytes of a number
(2, 4, 8: fp16, fp32, fp64). A thread makes four at a time: those of one count of the generator,
which counts from one. Nothing is fused, as in what NumPy is compiled to.
"""

ROW_WORDS = 7
ENTRY = b"draw_uniform"
PTX = b"""
.version 7.0
.target sm_70
.address_size 64

.visible .entry draw_uniform(.param .u64 table)
{
    .reg .pred %over, %more, %half, %single;
    .reg .b16 %h;
    .reg .b32 %r<5>, %round;
    .reg .f32 %s;
    .reg .f64 %low, %width, %d;
    .reg .b64 %table, %to, %count, %key0, %key1, %size, %group, %step, %at, %place;
    .reg .b64 %c0, %c1, %c2, %c3, %k0, %k1, %h0, %l0, %h1, %l1, %lane;

    ld.param.u64    %table, [table];
    ld.global.u64   %to, [%table];
    ld.global.u64   %count, [%table+8];
    ld.global.u64   %key0, [%table+16];
    ld.global.u64   %key1, [%table+24];
    ld.global.f64   %low, [%table+32];
    ld.global.f64   %width, [%table+40];
    ld.global.u64   %size, [%table+48];
    setp.eq.u64     %half, %size, 2;
    setp.eq.u64     %single, %size, 4;
    mov.u32         %r1, %tid.x;
    mov.u32         %r2, %ntid.x;
    mov.u32         %r3, %ctaid.x;
    mov.u32         %r4, %nctaid.x;
    cvt.u64.u32     %at, %r1;
    mul.wide.u32    %group, %r3, %r2;
    add.u64         %group, %group, %at;
    mul.wide.u32    %step, %r4, %r2;
FOUR:
    shl.b64         %at, %group, 2;
    setp.ge.u64     %over, %at, %count;
    @%over bra      DONE;
    add.u64         %c0, %group, 1;
    mov.u64         %c1, 0;
    mov.u64         %c2, 0;
    mov.u64         %c3, 0;
    mov.u64         %k0, %key0;
    mov.u64         %k1, %key1;
    mov.u32         %round, 0;
ROUND:
    mul.lo.u64      %l0, %c0, 0xD2E7470EE14C6C93;
    mul.hi.u64      %h0, %c0, 0xD2E7470EE14C6C93;
    mul.lo.u64      %l1, %c2, 0xCA5A826395121157;
    mul.hi.u64      %h1, %c2, 0xCA5A826395121157;
    xor.b64         %c0, %h1, %c1;
    xor.b64         %c0, %c0, %k0;
    mov.u64         %c1, %l1;
    xor.b64         %c2, %h0, %c3;
    xor.b64         %c2, %c2, %k1;
    mov.u64         %c3, %l0;
    add.u64         %k0, %k0, 0x9E3779B97F4A7C15;
    add.u64         %k1, %k1, 0xBB67AE8584CAA73B;
    add.u32         %round, %round, 1;
    setp.lt.u32     %more, %round, 10;
    @%more bra      ROUND;

    mul.lo.u64      %place, %at, %size;
    add.u64         %place, %place, %to;
    mov.u64         %lane, 0;
NUMBER:
    shr.u64         %c0, %c0, 11;
    cvt.rn.f64.u64  %d, %c0;
    mul.rn.f64      %d, %d, 0d3CA0000000000000;
    mul.rn.f64      %d, %d, %width;
    add.rn.f64      %d, %d, %low;
    @%half bra      HALF;
    @%single bra    SINGLE;
    st.global.f64   [%place], %d;
    bra             STORED;
HALF:
    cvt.rn.f16.f64  %h, %d;
    st.global.b16   [%place], %h;
    bra             STORED;
SINGLE:
    cvt.rn.f32.f64  %s, %d;
    st.global.f32   [%place], %s;
STORED:
    mov.u64         %c0, %c1;
    mov.u64         %c1, %c2;
    mov.u64         %c2, %c3;
    add.u64         %place, %place, %size;
    add.u64         %at, %at, 1;
    add.u64         %lane, %lane, 1;
    setp.ge.u64     %over, %at, %count;
    @%over bra      DONE;
    setp.lt.u64     %more, %lane, 4;
    @%more bra      NUMBER;
    add.u64         %group, %group, %step;
    bra             FOUR;
DONE:
    ret;
}
\0"""
