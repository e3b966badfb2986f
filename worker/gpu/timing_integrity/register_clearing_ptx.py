"""A kernel that fills all registers of a multiprocessor with zeros, as PTX that suits every GPU.

A block has 1,024 threads of 64 registers, which is all that there are. Each thread holds as many
numbers as fit in addition to its few others; that they are zero follows from the shape of the
launch, which the assembler does not know, and a loop that is never gone through needs all of them
at once.
"""

THREADS = 1024
ENTRY = b"clear_registers"
_NUMBERS = 58


def _text() -> str:
    numbers = [f"%w{place}" for place in range(_NUMBERS)]
    firsts = (
        f"    mad.lo.u32 {register}, %zero, {place + 3}, %zero;"
        for place, register in enumerate(numbers)
    )
    mixed = (
        f"    mad.lo.u32 {register}, {register}, {numbers[(place + 7) % _NUMBERS]}, {place + 3};"
        for place, register in enumerate(numbers)
    )
    joined = (f"    or.b32 %zero, %zero, {register};" for register in numbers)
    lines = "\n".join
    return f"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry clear_registers() .maxntid {THREADS}, 1, 1
{{
    .reg .pred %p;
    .reg .b32 %zero, %times, %thread, {", ".join(numbers)};
    .shared .b32 never;
    mov.u32 %times, %ntid.y;
    mov.u32 %thread, %tid.x;
    sub.u32 %zero, %times, 1;
    mul.lo.u32 %zero, %zero, %thread;
{lines(firsts)}
AGAIN:
    setp.le.u32 %p, %times, 1;
    @%p bra END;
{lines(mixed)}
    sub.u32 %times, %times, 1;
    bra AGAIN;
END:
{lines(joined)}
    setp.eq.u32 %p, %zero, 0;
    @%p bra DONE;
    st.volatile.shared.u32 [never], %zero;
DONE:
    ret;
}}
"""


PTX = _text().encode() + b"\0"
