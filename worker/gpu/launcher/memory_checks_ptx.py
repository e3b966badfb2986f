"""The kernel that answers questions about memory, as PTX, so that it suits every GPU.

`table` has rows of seven numbers: address and size of a piece, what is asked (0: a digest, 1: how
many of its 16 bytes are not the pattern, 2: how many hold an element that is), 8 bytes of pattern
(of a digest its key), the lowest and the highest bit of each element, and the answer, which is
added to. Each row has a row of blocks.
"""

ROW_WORDS = 7
ENTRY = b"check_memory"
PTX = b"""
.version 7.0
.target sm_70
.address_size 64

.visible .entry check_memory(.param .u64 table)
{
    .reg .pred over, aligned, whole, is_digest, is_holds, more, first_half, first_lane;
    .reg .b32 row, block, threads, thread, blocks, lane, part_low, part_high, place, octet;
    .reg .b64 entry, start, bytes, mode, pattern, low, high, result;
    .reg .b64 at, step, here, left, word, next, missing, number, key, shifted, borrow;
    .reg .b64 sum, one, mask;

    // a row of blocks for each entry of the table
    mov.u32         row, %ctaid.y;
    ld.param.u64    entry, [table];
    mul.wide.u32    one, row, 56;
    add.s64         entry, entry, one;
    ld.global.u64   start, [entry];
    ld.global.u64   bytes, [entry+8];
    ld.global.u64   mode, [entry+16];
    ld.global.u64   pattern, [entry+24];
    ld.global.u64   low, [entry+32];
    ld.global.u64   high, [entry+40];
    add.s64         result, entry, 48;
    setp.eq.u64     is_digest, mode, 0;
    setp.eq.u64     is_holds, mode, 2;

    // what stands for bytes behind the end: it changes no answer
    mov.b64         missing, pattern;
    @is_digest mov.b64 missing, 0;
    @is_holds  not.b64 missing, pattern;

    // the pieces of 16 bytes of this thread: `at`, and every `step` from there on
    mov.u32         block, %ctaid.x;
    mov.u32         blocks, %nctaid.x;
    mov.u32         threads, %ntid.x;
    mov.u32         thread, %tid.x;
    mul.wide.u32    at, block, threads;
    cvt.u64.u32     one, thread;
    add.s64         at, at, one;
    shl.b64         at, at, 4;
    mul.wide.u32    step, blocks, threads;
    shl.b64         step, step, 4;
    and.b64         one, start, 15;
    setp.eq.u64     aligned, one, 0;
    mov.b64         sum, 0;

NEXT:
    setp.ge.u64     over, at, bytes;
    @over bra       END;
    add.s64         here, start, at;
    sub.s64         left, bytes, at;
    setp.ge.and.u64 whole, left, 16, aligned;
    @!whole bra     PIECE;
    ld.global.v2.b64 {word, next}, [here];
    bra             JUDGE;

PIECE:  // not aligned, or shorter: byte by byte
    mov.b64         word, missing;
    mov.b64         next, missing;
    min.u64         left, left, 16;
    mov.b32         place, 0;
OCTET:
    ld.global.u8    octet, [here];
    cvt.u64.u32     one, octet;
    and.b32         lane, place, 7;
    shl.b32         lane, lane, 3;
    shl.b64         one, one, lane;
    mov.b64         mask, 255;
    shl.b64         mask, mask, lane;
    not.b64         mask, mask;
    setp.lt.u32     first_half, place, 8;
    @first_half and.b64  word, word, mask;
    @first_half or.b64   word, word, one;
    @!first_half and.b64 next, next, mask;
    @!first_half or.b64  next, next, one;
    add.s64         here, here, 1;
    add.u32         place, place, 1;
    cvt.u64.u32     one, place;
    setp.lt.u64     more, one, left;
    @more bra       OCTET;

JUDGE:
    @is_digest bra  DIGEST;
    xor.b64         word, word, pattern;
    xor.b64         next, next, pattern;
    @!is_holds bra  COUNT;
    // an element of zero bits borrows from the bit above it, and has none set itself
    sub.s64         borrow, word, low;
    not.b64         word, word;
    and.b64         word, word, borrow;
    and.b64         word, word, high;
    sub.s64         borrow, next, low;
    not.b64         next, next;
    and.b64         next, next, borrow;
    and.b64         next, next, high;
COUNT:
    or.b64          word, word, next;
    setp.ne.u64     more, word, 0;
    selp.b64        one, 1, 0, more;
    add.s64         sum, sum, one;
    bra             STEP;

DIGEST:
    shr.u64         number, at, 3;
    mul.lo.u64      key, number, 0x9E3779B97F4A7C15;
    add.u64         key, key, pattern;
    xor.b64         word, word, key;
    add.u64         key, key, 0x9E3779B97F4A7C15;
    xor.b64         next, next, key;
    shr.u64         shifted, word, 32;
    xor.b64         word, word, shifted;
    mul.lo.u64      word, word, 0xD6E8FEB86659FD93;
    shr.u64         shifted, word, 32;
    xor.b64         word, word, shifted;
    mul.lo.u64      word, word, 0xD6E8FEB86659FD93;
    shr.u64         shifted, word, 32;
    xor.b64         word, word, shifted;
    add.u64         sum, sum, word;
    shr.u64         shifted, next, 32;
    xor.b64         next, next, shifted;
    mul.lo.u64      next, next, 0xD6E8FEB86659FD93;
    shr.u64         shifted, next, 32;
    xor.b64         next, next, shifted;
    mul.lo.u64      next, next, 0xD6E8FEB86659FD93;
    shr.u64         shifted, next, 32;
    xor.b64         next, next, shifted;
    add.u64         sum, sum, next;
STEP:
    add.s64         at, at, step;
    bra             NEXT;

END:  // one sum for a warp
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 16, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 16, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 8, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 8, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 4, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 4, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 2, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 2, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.b64         {part_low, part_high}, sum;
    shfl.sync.down.b32 block, part_low, 1, 31, 0xffffffff;
    shfl.sync.down.b32 blocks, part_high, 1, 31, 0xffffffff;
    mov.b64         one, {block, blocks};
    add.u64         sum, sum, one;
    mov.u32         lane, %laneid;
    setp.eq.u32     first_lane, lane, 0;
    @first_lane red.global.add.u64 [result], sum;
    ret;
}
\0"""
