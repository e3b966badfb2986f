"""A puzzle for learning Triton, with checked answers: add a vector to each row.

`z[i, j] = x[j] + y[i]`, one program for a block of 32 x 32. There are two answers; the first
forgets that the block is larger than the matrix.
"""

import os

import tritonc
from tritonc import buffers

ANSWERS = {
    "without a mask": """
        x = tl.load(x_ptr + j)
        y = tl.load(y_ptr + i)
        tl.store(z_ptr + i[:, None] * N0 + j[None, :], x[None, :] + y[:, None])
    """,
    "with masks": """
        x = tl.load(x_ptr + j, mask=j < N0)
        y = tl.load(y_ptr + i, mask=i < N1)
        inside = (i < N1)[:, None] & (j < N0)[None, :]
        tl.store(z_ptr + i[:, None] * N0 + j[None, :], x[None, :] + y[:, None], mask=inside)
    """,
}
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def add_outer(x_ptr, y_ptr, z_ptr, N0, N1, B: tl.constexpr):
    j = tl.arange(0, B)
    i = tl.arange(0, B)
"""


def spec(x_ptr, y_ptr, **_):
    return x_ptr[None, :] + y_ptr[:, None]


def main(url: str) -> None:
    with tritonc.Client(url) as client:
        for name, answer in ANSWERS.items():
            launch = client.launch(
                KERNEL + answer.replace("\n        ", "\n    "),
                device="cpu",
                constexprs={"B": 32},
                grid=[1],
                arguments={
                    "x_ptr": buffers.arange(30),
                    "y_ptr": buffers.uniform(20, seed=3),
                    "z_ptr": buffers.output((20, 30)),
                    "N0": 30,
                    "N1": 20,
                },
                reference=spec,
            )
            print(f"--- {name}\n{launch.render('answer.py')}")


if __name__ == "__main__":
    main(os.environ.get("TRITOND_URL", "http://127.0.0.1:8000"))
