"""Runs the kernel of vector_add.py on a CPU, and compares it with NumPy.

No GPU is needed, neither here nor where tritond runs. The second launch lacks the mask; the report
shows the error and its line.
"""

import os
from pathlib import Path

import tritonc
from tritonc import buffers

SOURCE = (Path(__file__).parent / "vector_add.py").read_text()
N = 98432


def reference(x_ptr, y_ptr, **_):
    return x_ptr + y_ptr


def main(url: str) -> None:
    with tritonc.Client(url) as client:
        for source in (SOURCE, SOURCE.replace("x_ptr + offsets, mask=mask", "x_ptr + offsets")):
            launch = client.launch(
                source,
                device="cpu",
                constexprs={"BLOCK_SIZE": 1024},
                grid=["cdiv(n_elements, BLOCK_SIZE)"],
                arguments={
                    "x_ptr": buffers.uniform(N, seed=1),
                    "y_ptr": buffers.normal(N, seed=2),
                    "output_ptr": buffers.output(N),
                    "n_elements": N,
                },
                reference=reference,
            )
            print(launch.render("vector_add.py"))


if __name__ == "__main__":
    main(os.environ.get("TRITOND_URL", "http://127.0.0.1:8000"))
