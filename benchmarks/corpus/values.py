"""Plausible values for constexpr parameters, from their use in the kernel and their names."""

import ast
import re
from functools import cache
from typing import Any

_FLAG = re.compile(
    r"^(IS|HAS|USE|DO|ENABLE|WITH|NEEDS?|STORE|LOAD|RETURN|APPLY|EVEN|ADD|SKIP|SAVE|OUTPUT|COMPUTE|"
    r"INCLUDE|ALLOW|NORMALIZE|REVERSE|TRANSPOSE)_|CAUSAL|REVERSE|^is_|^has_|^use_|^enable_"
)
_BLOCK = re.compile(
    r"BLOCK|BLK|TILE|^B[A-Z]?$|^B[A-Z]_|DIM|^[DKVMN]$|SIZE|^B[STCDKVMN]\d?$|_D$|_size"
)
_FEW = re.compile(r"^(NUM|N)_|^num_|^H[A-Z]?$|^G$|GROUP|HEADS|TOPK|top_?k|SPLIT", re.IGNORECASE)
_FLOAT = re.compile(r"eps|scale|alpha|beta|momentum|softcap|limit|lower|upper|clamp", re.IGNORECASE)
_FLOATS = ("bf16", "fp16", "fp32", "fp64", "fp8e4nv")


def constexpr_value(
    node: ast.FunctionDef, name: str, block: int, element: str, flag: bool, is_flag: bool
) -> Any:
    """Return a value in the form of a request's `constexprs`."""
    compared = _compared_strings(node, name)
    if compared:
        return compared[0 if flag else -1]
    if _is_dtype(node, name):
        return {"dtype": element if element in _FLOATS else "fp32"}
    if name in {"num_warps", "num_stages"}:
        return {"num_warps": 4, "num_stages": 2}[name]
    if _FLOAT.search(name) and not _FLAG.search(name):
        return {"float": 0.5}
    if is_flag or _FLAG.search(name):
        return flag
    if _FEW.search(name):
        return 4 if block > 16 else 1
    return block if _BLOCK.search(name) else min(block, 16)


@cache
def flags(node: ast.FunctionDef) -> set[str]:
    """Return the names used as bare conditions: `if NAME`, `not NAME`, `NAME and ...`."""
    names: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.If(test=test) | ast.IfExp(test=test):
                names |= _names([test])
            case ast.BoolOp(values=values):
                names |= _names(values)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                names |= _names([operand])
    return names


def _names(nodes: list[ast.expr]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}


@cache
def _compared_strings(node: ast.FunctionDef, name: str) -> list[str]:
    strings = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Compare) and name in _names([inner.left, *inner.comparators]):
            sides = [inner.left, *inner.comparators]
            strings += [
                s.value for s in sides if isinstance(s, ast.Constant) and type(s.value) is str
            ]
    return strings


@cache
def _is_dtype(node: ast.FunctionDef, name: str) -> bool:
    if re.search(r"dtype|_type$|_ty$", name, re.IGNORECASE):
        return True
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            method = inner.func.attr if isinstance(inner.func, ast.Attribute) else ""
            if method in {"to", "pointer_type"} and name in _names(inner.args):
                return True
            if any(k.arg == "dtype" and name in _names([k.value]) for k in inner.keywords):
                return True
    return False
