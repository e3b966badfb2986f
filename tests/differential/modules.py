"""Generates modules with every kind of statement around one kernel, from hypothesis' choices.

There are few names, so that statements interact: what one binds, others alias, change, hide and
delete.
"""

from __future__ import annotations

from hypothesis import strategies as st

HEAD = "import triton\nimport triton.language as tl\n"
START = (
    "a = 1.0\nb = 2.0\nc = 3.0\nD = {'a': 1.0, 'b': 2.0}\nL = [1.0, 2.0, 3.0, 4.0]\n"
    "it = iter([5.0, 6.0, 7.0, 8.0])\n"
    "class Box:\n    v = 1.0\n    def __init__(self, v=2.0):\n        self.v = v\n"
    "    def set(self, v):\n        self.v = v\n        return self\nbox = Box()\n"
    "def f(v=1.0):\n    return v + 0.5\ndef g():\n    return 2.5\ndef memo(v):\n    return v\n"
    "def count(fn=None):\n    return fn\ncount.calls = 0.0\nclass Sub(Box):\n    pass\n"
    "class Color:\n    class RED:\n        value = 1.0\nM = tl.constexpr(1.0)\nother = Box(4.0)\n"
    "E = {'a': 5.0}\ngen = (v for v in (1.0, 2.0, 3.0))\nM2 = [2.0]\n"
)
VALUES = (
    "1.5", "a", "b + 1", "c * 2", "D['a']", "D.get('b', 9.0)", "L[0]", "L[-1]", "box.v", "sum(L)",
    "len(L) + 0.0", "next(it)", "next(it, 4.5)", "max(a, b)", "min(L)", "f(a)", "g()", "Box(3.5).v",
    "(a if b > c else c)", "[v for v in L][1]", "(lambda v: v + b)(c)", "float(len(D))", "h.B",
    "h.bump()", "random.random()", "float(Decimal(1) / Decimal(3))", "getattr(box, 'v')",
    "getattr(h, 'OPT', 2.25)", "float('OPT' in dir())", "M.value", "float(Color.RED.value)",
    "float(hasattr(tl, 'mine'))", "float(log.level)", "sys.modules[__name__].a", "globals()['b']",
    "eval('a + b')", "vars(box)['v']", "(w := 8.5)", "float(__name__ == 'user')", "partial(max, a)(c)",
    "reduce(max, L)", "[*L, a][-1]", "{**D}['a']", "float(str(a) == '1.0')", "gen.send(None)",
    "float(len(__file__))", "memo(2.0)", "undefined_name", "1 / (a - a)",
)  # fmt: skip
SIMPLE = (
    "{n} = {v}", "{n}: float = {v}", "{n} += {v}", "{n}, _t = {v}, {w}", "{n} = _u = {v}", "del {n}",
    "D['{k}'] = {v}", "D.update({k}={v})", "D.setdefault('{k}', {v})", "del D['{k}']", "E = D",
    "E['{k}'] = {v}", "E = dict(D)", "D = E", "L.append({v})", "L[0] = {v}", "L.sort(reverse=True)",
    "M2 = L", "M2.insert(0, {v})", "L += [{v}]", "L.pop()", "box.v = {v}", "box.set({v})",
    "other = box", "other.v = {v}", "Box.v = {v}", "box = Box({v})", "next(it)", "list(it)",
    "{n} = next(it)", "f({v})", "_ = g()", "h.B = {v}", "h.bump()", "import helpers as H\nH.B = {v}",
    "from helpers import B as {n}", "from helpers import *", "import patch", "from patch import apply",
    "import patch; patch.apply(h, {v})", "random.seed(3)", "random.random()", "r2.seed(5)",
    "getcontext().prec = 3", "decimal.getcontext().prec = 5", "log.setLevel(30)", "print({v})",
    "globals()['{n}'] = {v}", "exec('{n} = {v}')", "setattr(box, 'v', {v})", "setattr(h, 'B', {v})",
    "sys.modules[__name__].{n} = {v}", "sys.modules['helpers'].B = {v}", "tl.mine = {v}",
    "tl.exp2, tl.log2 = tl.log2, tl.exp2", "T = tl\nT.abs = T.exp2", "assert {v} > 0", "assert a",
    "({n} := {v})", "[{n} := v for v in L]", "{n} = f", "f = lambda v: v * 2", "g = lambda: {v}",
    "raise ValueError({v})", "pass", "'''a text'''", "...", "OPT = {v}", "h.OPT = {v}", "Color = Box",
    "gen.send(None)", "_ = [box.set(v) for v in L]", "_ = any(L.append(v) for v in (1.0,))",
    "M = tl.constexpr({v})", "M.value = {v}", "memo({v})", "count.calls = {v}", "{n} = count.calls",
    "import cutlass", "import math as {n}", "partial(D.update, {k}={v})()", "sub = Sub({v})",
    "box.__dict__['v'] = {v}", "__name__ = 'other'", "type(box).v = {v}", "k[(1,)](None)",
    "f.__defaults__ = ({v},)", "{n} = locals()['a']", "warnings.simplefilter('ignore')",
    "importlib.import_module('helpers').B = {v}", "object.__setattr__(box, 'v', {v})", "super = {v}",
    "kernel_of_it = k", "max = min", "len = sum", "class Box(Box):\n    v = {v}", "L[:] = [{v}]",
)  # fmt: skip
DEFINITIONS = (
    "def f(v=1.0):\n    return v + a", "def f(v=D['a']):\n    D['b'] = v\n    return v",
    "def g():\n    global {n}\n    {n} = {v}\n    return {n}", "def g():\n    return L.pop()",
    "def g():\n    box.v += 1\n    return box.v", "def g():\n    h.B = {v}\n    return h.B",
    "def g(state=[0.0]):\n    state[0] += 1\n    return state[0]",
    "def memo(v, seen={{}}):\n    seen[v] = len(seen) + 0.5\n    return seen[v]",
    "def register(fn):\n    L.append({v})\n    return fn\n@register\ndef unused(): pass",
    "def register(fn):\n    fn()\n    return fn\n@register\ndef unused():\n    global {n}\n    {n} = {v}",
    "class Base:\n    def __init_subclass__(cls):\n        D['{k}'] = {v}\nclass Sub(Base):\n"
    "    def __init__(self, v=0): self.v = v",
    "class Meta(type):\n    def __new__(m, *x):\n        L.append({v})\n        return type.__new__(m, *x)\n"
    "class Made(metaclass=Meta): pass",
    "class Add:\n    def __lshift__(self, v):\n        D['{k}'] = v\n        return self\nAdd() << {v}",
    "class P:\n    @property\n    def v(self):\n        L[0] = {w}\n        return {v}\n{n} = P().v",
    "def numbers():\n    {n} = {v}\n    while True:\n        yield {n}\n        {n} += 1\ngen = numbers()",
    "def outer():\n    x = {v}\n    def inner():\n        nonlocal x\n        x += 1\n        return x\n"
    "    return inner\ng = outer()",
    "def count(fn=None):\n    count.calls = getattr(count, 'calls', 0.0) + 1\n    return fn\ncount()",
    "@triton.jit\ndef helper(v):\n    return v + {c}", "def helper_py(v):\n    return v",
    "from enum import Enum\nclass Color(Enum):\n    RED = {c}\n    BLUE = 2.0",
    "from dataclasses import dataclass, field\n@dataclass\nclass Conf:\n    v: float = {c}\n"
    "    items: list = field(default_factory=list)\nbox = Conf()",
    "class Cm:\n    def __enter__(self):\n        D['{k}'] = {v}\n        return self\n"
    "    def __exit__(self, *x):\n        L.append({w})\nwith Cm() as {n}2:\n    pass",
)  # fmt: skip
BLOCKS = (
    "if {t}:\n{s}", "if {t}:\n{s}\nelse:\n{r}", "for v in L[:2]:\n{s}", "for {n} in L:\n    pass",
    "while a < 3:\n    a += 1\n{s}", "with open_nothing() as {n}:\n{s}", "try:\n{s}\nexcept Exception:\n{r}",
    "try:\n    import cutlass\n{s}\nexcept ImportError:\n{r}", "try:\n{s}\nexcept NameError as e:\n{r}",
    "try:\n    tl.no_such_thing\n{s}\nexcept AttributeError:\n{r}", "try:\n{s}\nfinally:\n{r}",
    "try:\n{s}\nexcept KeyError:\n    pass\nelse:\n{r}", "try:\n    raise ValueError\nexcept ValueError:\n{s}",
    "match ({v}, 1):\n    case ({n}, 1):\n        pass\n    case _:\n        c = 1.0",
    "match D:\n    case {{'a': {n}, **rest}}:\n    {s}", "match L:\n    case [{n}, *_]:\n    {s}",
    "if __name__ == '__main__':\n{s}", "def late():\n{s}", "def late():\n    global a, b, c\n{s}\nlate()",
    "class Scope:\n{s}\n    x = 1", "if True:\n    try:\n    {s}\n    except TypeError:\n    {r}",
    "for {n} in it:\n{s}\n    break\nelse:\n{r}", "while True:\n{s}\n    break",
)  # fmt: skip
TORCH_VALUES = (
    "float(torch.ones(3).sum())", "7.0 if hasattr(torch, 'nothing') else 8.0", "float(len(torch.ones(3)))",
    "float(torch.finfo(torch.float16).max)", "float(torch.float16.itemsize)", "torch.pi",
    "(3.0 if asked is None else 4.0)", "float(asked.shape[0])", "(2.0 if callable(asked) else 3.0)",
    "(5.0 if isinstance(asked, torch.Tensor) else 6.0)", "ask(lambda: float(asked[0]))",
    "float(asked.dtype == torch.float32)", "float(asked.sum())", "getattr(torch, 'nothing', 9.0)",
    "float(torch.cuda.is_available())", "float(len(str(asked)))", "(asked is not None and 3.0)",
    "float(bool(torch.ones(1)))", "float(np.float32(0.1))", "float(np.float32(1.5) + 1)",
)  # fmt: skip
TORCH_STATEMENTS = (
    "asked = torch.ones(3)", "asked = None", "asked = torch.nn.Linear(2, 2)", "torch.manual_seed(0)",
    "try:\n    {n} = float(asked.sum())\nexcept Exception:\n    pass", "L.append(torch.ones(2))",
    "try:\n    {n} = {v}\nexcept Exception:\n    {n} = {w}", "D['{k}'] = asked", "print(asked)",
    "@torch.no_grad()\ndef host(x):\n    return x", "x = asked + 1 if asked is not None else 0",
    "class Net(torch.nn.Module):\n    v = 1.5\n    def __init__(self):\n        super().__init__()\n"
    "        self.v = {v}\nbox = Net()", "assert asked is not None", "h.B = float(torch.ones(1))",
    "{n} = 4.0 if torch.ones(1) else 5.0", "for _ in torch.ones(2):\n    L.append({v})",
    "DT = {{torch.float16: {v}}}\n{n} = DT[torch.float16]", "ask(lambda: L.append(float(asked)))",
    "torch.testing.assert_close(torch.ones(1), torch.ones(1))",
    "net = torch.nn.ReLU()\nnet.tag = {v}\n{n} = net.tag",
    "@triton.autotune([triton.Config({{}}, num_warps=int(torch.ones(1)) * 2)], key=[])\n"
    "@triton.jit\ndef tuned(x_ptr):\n    pass", "{n} = {v} if torch.__version__ >= '2.0' else {w}",
    "@(lambda f: f)\ndef host2(x=torch.ones(1)):\n    return x",
)  # fmt: skip
TORCH_BLOCKS = (
    "with torch.no_grad():\n{s}", "for v in torch.ones(2):\n{s}", "if asked is not None:\n{s}",
    "try:\n    asked.nothing()\n{s}\nexcept AttributeError:\n{r}",
    "if torch.cuda.is_available():\n{s}\nelse:\n{r}", "if hasattr(torch, 'ones'):\n{s}\nelse:\n{r}",
    "try:\n    float(asked.sum())\n{s}\nexcept Exception:\n{r}",
)  # fmt: skip
TORCH_START = (
    "import torch\nimport numpy as np\nasked = torch.ones(3)\ndef ask(function):\n    try:\n"
    "        return function()\n    except Exception:\n        return 0.5\n"
)
TESTS = (
    "a > 1",
    "b == 2",
    "'OPT' in D",
    "L",
    "hasattr(tl, 'dot')",
    "1",
    "0",
    "a and c",
    "True",
    "it",
)
PRELUDE = (
    "import sys\nimport random\nimport random as r2\nimport decimal\nimport logging\nimport warnings\n"
    "from decimal import Decimal, getcontext\nfrom functools import partial, reduce\n"
    "from contextlib import nullcontext as open_nothing\nimport importlib\nimport helpers as h\n"
    "log = logging.getLogger('kernels')\nrandom.seed(1)\n"
)
FILES = {
    "helpers.py": (
        "import triton.language as tl\nB = 1.25\ndef bump():\n    global B\n    B += 1\n    return B\n"
    ),
    "patch.py": (
        "import helpers\nimport triton.language as tl\nhelpers.B = 6.5\n"
        "def apply(module, value):\n    module.B = value\n"
    ),
}
KERNELS = (
    "@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, A + F)\n",
    "@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr + 1, tl.exp2(tl.load(x_ptr)) * A)\n",
    "@triton.jit\ndef k(x_ptr, P: tl.constexpr = A, Q: tl.constexpr = 2.0):\n    tl.store(x_ptr, P + Q)\n",
    "@triton.jit\ndef inner(v):\n    return v + F\n@triton.jit\ndef k(x_ptr):\n"
    "    for i in tl.static_range(2):\n        tl.store(x_ptr + i, inner(A))\n",
)


@st.composite
def _statement(draw: st.DrawFn, depth: int = 0, *, torch: bool = False) -> str:
    texts = [SIMPLE, SIMPLE, SIMPLE, DEFINITIONS] + ([BLOCKS, BLOCKS] if depth < 2 else [])
    texts += [TORCH_STATEMENTS, TORCH_STATEMENTS, TORCH_BLOCKS][: 3 if depth < 2 else 2] * torch
    values = VALUES + TORCH_VALUES * torch
    text = draw(st.sampled_from(draw(st.sampled_from(texts))))
    choices = {
        "n": draw(st.sampled_from("abc")),
        "k": draw(st.sampled_from("ab")),
        "v": draw(st.sampled_from(values)),
        "w": draw(st.sampled_from(values)),
        "c": draw(st.sampled_from(["0.5", "7.0"])),
        "t": draw(st.sampled_from(TESTS)),
    }
    if "{s}" in text:
        choices["s"] = _indented(draw(_statement(depth + 1, torch=torch)))
    if "{r}" in text:
        choices["r"] = _indented(draw(_statement(depth + 1, torch=torch)))
    return text.format(**choices)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


@st.composite
def modules(draw: st.DrawFn, *, torch: bool = False) -> dict[str, str]:
    """Draw the files of one module: `user.py` with the kernel `k`, and those next to it.

    With `torch`, its statements use torch, too.
    """
    before = draw(st.lists(_statement(torch=torch), min_size=1, max_size=6))
    after = draw(st.lists(_statement(torch=torch), max_size=3))
    values = [draw(st.sampled_from(VALUES[:12] + ("a", "b", "c") * 4)) for _ in range(2)]
    constants = [
        f"{name} = tl.constexpr({value})" for name, value in zip("AF", values, strict=True)
    ]
    body = [*before, *constants, draw(st.sampled_from(KERNELS)), *after]
    start = PRELUDE + START + TORCH_START * torch
    return {"user.py": HEAD + start + "\n".join(body) + "\n", **FILES}
