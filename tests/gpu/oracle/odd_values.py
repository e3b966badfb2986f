"""Initial contents with edge cases of types: limits, ties, subnormals, infinities."""

from typing import Any

FLOATS = ("fp32", "fp64", "fp16", "bf16", "fp8e4nv", "fp8e5")
_ODD = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 0.1, -0.1, 3.7, -3.7, 100.3, 127.5,
    128.0, -128.5, -129.0, 255.5, 256.0, 300.0, 448.0, 464.0, 465.0, 480.0, -448.0, -1000.0,
    32767.5, 32768.0, -32769.0, 57344.0, 61440.0, 65504.0, 65520.0, 65536.0, -65536.0, 1e6,
    16777217.0, 2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0,
    4294967296.0, 9.2e18, 9.3e18, -9.3e18, 1.8e19, 1.9e19, 1e30, -1e30, 3.4e38, 1e-3, 6e-5,
    6e-8, 2.9e-8, 1e-7, 1e-20, 1e-38, 1e-40, -1e-42, 1e-45, 0.001953125, 0.0009765625,
    0.0146484375, 0.3333333, -0.6666667, 88.8, -87.5, 89.0, 709.0, 3.14159265, -1.57079632,
    10000.1, 1e5, float("inf"), float("-inf"), float("nan"),
]  # fmt: skip
_EDGES = [
    0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, -1, -2, -7, -8, -100, 2**24 + 1,
    2**53 + 1, -(2**31), 2**31 - 1, 2**31,
]  # fmt: skip


def odd_values(name: str, kind: str, size: int) -> dict[str, Any]:
    """Return the initial contents of w, x, y or z; each has its own order."""
    if name == "z" and kind == "i1":
        return {"kind": "full", "value": 1}
    shift = {"x": 0, "y": 1, "z": 2, "w": 3}[name]
    if kind in FLOATS:
        odd = [float(v) if v == v and abs(v) != float("inf") else str(v) for v in _ODD]
        step = (1, 7, 13, 11)[shift]  # no multiple of it is the number of values
        values = [
            odd[(index * step + shift * 3 + index // len(odd)) % len(odd)] for index in range(size)
        ]
        return {"kind": "values", "values": [_written(v) for v in values]}
    if kind == "i1":
        return {"kind": "values", "values": [(index >> shift) & 1 for index in range(size)]}
    bits, unsigned = int(kind[1:]), kind[0] == "u"
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    edges = [*_EDGES, high, high - 1, high // 2, high // 3, low, low + 1, low // 2]
    fitting = list(dict.fromkeys(edge for edge in edges if low <= edge <= high))
    step = next(s for s in (1, 5, 11, 13, 17, 19)[shift:] if len(fitting) % s) if shift else 1
    values = [fitting[(i * step + shift + i // len(fitting)) % len(fitting)] for i in range(size)]
    return {"kind": "values", "values": [{"int": str(v)} for v in values]}


def plain_values(name: str, kind: str, _size: int) -> dict[str, Any]:
    """Return ordinary numbers."""
    if kind in FLOATS:
        return {"kind": "normal", "seed": ord(name), "mean": 0.0, "std": 1.0}
    return {"kind": "randint", "seed": ord(name), "low": -100, "high": 100}


def _written(value: Any) -> Any:
    return {"float": float(value).hex()}
