"""Runs the kernel of softmax.py on matrices of several shapes, one case for each.

The first matrix is a NumPy array, which is uploaded. The cases only describe theirs, so the service
creates them. An output is returned as an array.
"""

import io
import os
from pathlib import Path

import numpy as np

import tritonc
from tritonc import buffers

SOURCE = (Path(__file__).parent / "softmax.py").read_text()


def softmax(input_ptr, **_):
    numerator = np.exp(input_ptr - input_ptr.max(axis=1, keepdims=True))
    return numerator / numerator.sum(axis=1, keepdims=True)


def arguments(matrix, rows: int, columns: int) -> dict:
    return {
        "output_ptr": buffers.output((rows, columns)),
        "input_ptr": matrix,
        "input_row_stride": columns,
        "output_row_stride": columns,
        "n_columns": columns,
    }


def main(url: str) -> None:
    shapes = [(4, 64), (3, 50), (1, 1)]
    matrix = np.random.default_rng(0).normal(size=(8, 61)).astype(np.float32)
    how = {"device": "cpu", "constexprs": {"BLOCK_SIZE": 64}, "reference": softmax}
    with tritonc.Client(url) as client:
        one = client.launch(
            SOURCE,
            kernel="softmax_kernel",
            grid=[len(matrix)],
            arguments=arguments(matrix, *matrix.shape),
            returns={"output_ptr": "tensor"},
            **how,
        )
        made = np.load(io.BytesIO(client.launches.output(one.id, "output_ptr")))
        print(f"{one.verdict}; the rows add up to {made.sum(axis=1).round(5)}")

        several = client.launch(
            SOURCE,
            kernel="softmax_kernel",
            grid=[1],
            arguments=arguments(buffers.normal((1, 64), seed=1), 1, 64),
            cases=[
                {
                    "name": f"{rows} x {columns}",
                    "grid": [rows],
                    "arguments": arguments(
                        buffers.normal((rows, columns), seed=rows), rows, columns
                    ),
                }
                for rows, columns in shapes
            ],
            **how,
        )
        print(several.render("softmax.py"))


if __name__ == "__main__":
    main(os.environ.get("TRITOND_URL", "http://127.0.0.1:8000"))
