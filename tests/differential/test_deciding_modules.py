"""Modules that branch on a package that is missing here: refused, or equal to Python's result.

Direct compilation has a torch and a `flash_attn` that answer; here nothing answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, event, given, seed, settings
from hypothesis import strategies as st

from tests.differential.comparing import SIGNATURE, Answers, Comparison
from tests.shares import examples

HEAD = "import triton\nimport triton.language as tl\nimport torch\nimport flash_attn\n"
KERNEL = "@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, B)\n"
INSTALLED = {
    "torch.py": "inf = float('inf')\n"
    "class Value:\n    v = 0.5\n    def sum(self):\n        return self\n"
    "    def __float__(self):\n        return self.v\n    def __bool__(self):\n        return True\n"
    "def randn(*shape):\n    return Value()\n",
    "flash_attn.py": "flag = 6.0\ndef fast(value=None):\n    return 7.0\n"
    "def register(function):\n    function(5.0)\n",
}
REQUEST = {"kernel": "k", "signature": SIGNATURE, "constexprs": {}}
EXAMPLES = examples(int(os.environ.get("TRITOND_FUZZ_MODULES", "5")))
SEED = int(os.environ.get("TRITOND_FUZZ_SEED", "1"))

START = (
    "import contextlib\nc = 2.0\nL = [2.0]\nM = L\nD = {'a': 2.0}\nbox = [D]\n"
    "class Box:\n    v = 2.0\n    w = 2.0\none = Box()\none.v = 2.5\nasked = torch.randn(3)\n"
    "it = iter((1.0, 2.0, 3.0))\n"
    "class Quiet:\n    def __enter__(self):\n        return self\n"
    "    def __exit__(self, *_):\n        return True\n"
    "def ask(function):\n    try:\n        return function()\n    except Exception:\n        return 0\n"
)
ASKS = (
    "float(torch.randn(3).sum())", "7.0 if hasattr(torch, 'nothing') else 8.0", "flash_attn.fast()",
    "float(flash_attn.flag)", "getattr(torch, 'nothing', 9.0)", "float(len(str(torch.randn)))",
    "3.0 if asked is None else 4.0", "3.0 if callable(asked) else 4.0", "float(asked == 1)",
    "5.0 if isinstance(asked, torch.Value) else 6.0", "5.0 if asked else 6.0",
    "[float(v) for v in (asked,)][0]", "float(type(asked).__name__ == 'Value')",
    "ask(lambda: float(asked))", "ask(lambda: flash_attn.fast()) or 3.0", "(asked and 3.0)",
    "{type(asked): 4.0}.get(int, 5.0)", "float(f'{asked}' == '')", "next(v for v in (asked, 2.0))",
)  # fmt: skip
EFFECTS = (
    "c = {v}", "c += {v}", "L[0] = {v}", "M.insert(0, {v})", "D['a'] = {v}", "box[0]['a'] = {v}",
    "one.v = {v}", "Box.w = {v}", "setattr(one, 'v', {v})", "D.update(a={v})", "L.extend([{v}])",
    "flash_attn.register(L.append)", "next(it) if {v} else None", "globals()['c'] = {v}",
)  # fmt: skip
FORMS = (
    "{s}",
    "try:\n    {s}\nexcept Exception:\n    pass",
    "try:\n    {s}\nexcept:\n    L[0] = 8.0",
    "try:\n    try:\n        {s}\n    finally:\n        L[0] += 1\nexcept Exception:\n    pass",
    "try:\n    {v}\nexcept Exception:\n    pass\nelse:\n    c = 9.0",
    "with contextlib.suppress(Exception):\n    {s}",
    "with Quiet():\n    {s}",
    "for _ in (1, 2):\n    try:\n        {s}\n    except Exception:\n        continue",
    "n = 0\nwhile n < 2:\n    n += 1\n    with Quiet():\n        {s}",
    "match {v}:\n    case 7.0 | 0.5:\n        c = 9.0\n    case _:\n        pass",
    "if {v} == 7.0:\n    c = 9.0\nelse:\n    L[0] = 8.0",
    "if True:\n    try:\n        {s}\n    except Exception:\n        pass",
    "def do():\n    global c\n    {s}\ndo()",
    "def do():\n    global c\n    try:\n        {s}\n    except Exception:\n        pass\ndo()",
    "def inner():\n    global c\n    {s}\ndef do(run):\n    run()\ndo(inner)",
    "class Do:\n    def run(self):\n        global c\n        {s}\nDo().run()",
    "[c := {v} for _ in (1,)]",
    "class C:\n    v = 1.0\n    try:\n        v = {v}\n    except Exception:\n        pass\nc = C.v",
    "def pick(v=2.0):\n    return {v} or v\nc = pick()",
    "choose = lambda: {v}\nc = ask(choose)",
    # calls that no statement names
    "class W:\n    def __getattr__(self, name):\n        global c\n        {s}\nw = W()\nw.x",
    "class W:\n    def __setitem__(self, key, value):\n        global c\n        {s}\nw = W()\nw[1] = 2",
    "class W:\n    def __class_getitem__(cls, key):\n        global c\n        {s}\nq = W[int]",
    "class W:\n    def __get__(self, held, owner):\n        global c\n        {s}\nclass V:\n    w = W()\nV.w",
    "class W:\n    def __del__(self):\n        global c\n        {s}\nw = W()\ndel w",
    "class M(type):\n    def __instancecheck__(cls, held):\n        global c\n        {s}\n"
    "class W(metaclass=M):\n    pass\nq = isinstance(1, W)",
    "import enum\nclass E(enum.Enum):\n    A = 1\n    def __init__(self, value):\n        global c\n        {s}",
    "import functools\ndef do(held):\n    global c\n    {s}\nfunctools.partial(do, 1)()",
    "import functools\ndef do(held, other):\n    global c\n    {s}\nfunctools.reduce(do, [1, 2])",
    "import collections\ndef do():\n    global c\n    {s}\nq = collections.defaultdict(do)\nq[1]",
    "def do():\n    global c\n    {s}\n    return int\nq: do() = 1",
    "def do():\n    global c\n    {s}\n    return int\ndef f(a: do()):\n    pass",
    "def do():\n    global c\n    try:\n        yield\n    finally:\n        {s}\nq = do()\nnext(q)\ndel q",
)
END = "B = tl.constexpr(c + L[0] * 10 + L[-1] * 20 + D['a'] * 100 + one.v * 1000 + Box.w + next(it))\n"


@dataclass(frozen=True)
class Module:
    """A module of one deciding statement."""

    text: str


@st.composite
def deciding(draw: st.DrawFn) -> Module:
    value = draw(st.sampled_from(ASKS))
    effect = draw(st.sampled_from(EFFECTS)).format(v=value)
    return Module(
        HEAD + START + draw(st.sampled_from(FORMS)).format(s=effect, v=value) + "\n" + END
    )


@pytest.fixture(scope="module")
def comparison() -> Iterator[Comparison]:
    running = Comparison()
    yield running
    running.close()


def _compared(comparison: Comparison, files: dict[str, str]) -> Answers:
    return comparison.compare(files, installed=INSTALLED)


@pytest.mark.timeout(0)
@seed(SEED)
@settings(
    max_examples=EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)
@given(module=deciding())
def test_what_only_a_package_knows_decides_no_kernel(
    comparison: Comparison, module: Module
) -> None:
    answers = _compared(comparison, {"user.py": module.text + KERNEL})

    event(answers.verdict)
    wrong = (
        answers.verdict in {"SILENT", "accepted", "told"} or "compiler_crashed" in answers.detail
    )
    assert not wrong, f"seed {SEED}: {answers.detail}\n{module.text}"


REFUSED = {
    "a special method that an attribute calls": "c = min(2.0, torch.inf)\nclass W:\n    def __getattr__(self, name):\n        global c\n        c = 5.0 if hasattr(torch, 'nothing') else 6.0\nw = W()\nw.x\nB = tl.constexpr(c)\n",
    "a special method that an index calls": "c = min(2.0, torch.inf)\nclass W:\n    def __class_getitem__(cls, key):\n        global c\n        c = 5.0 if hasattr(torch, 'nothing') else 6.0\nq = W[int]\nB = tl.constexpr(c)\n",
    "a finalizer": "c = min(2.0, torch.inf)\nclass W:\n    def __del__(self):\n        global c\n        c = 5.0 if hasattr(torch, 'nothing') else 6.0\nw = W()\ndel w\nB = tl.constexpr(c)\n",
    "a special method of a metaclass": "c = min(2.0, torch.inf)\nclass M(type):\n    def __instancecheck__(cls, one):\n        global c\n        c = 5.0 if hasattr(torch, 'nothing') else 6.0\nclass W(metaclass=M):\n    pass\nq = isinstance(1, W)\nB = tl.constexpr(c)\n",
    "a function that a library calls": "import functools\nc = min(2.0, torch.inf)\ndef f(one):\n    global c\n    c = 5.0 if hasattr(torch, 'nothing') else 6.0\nfunctools.partial(f, 1)()\nB = tl.constexpr(c)\n",
    "an annotation": "c = min(2.0, torch.inf)\ndef f():\n    global c\n    c = 5.0 if hasattr(torch, 'nothing') else 6.0\n    return int\nx: f() = 1\nB = tl.constexpr(c)\n",
    "a member of an enumeration": "import enum\nc = min(2.0, torch.inf)\nclass E(enum.Enum):\n    A = 1\n    def __init__(self, value):\n        global c\n        c = 5.0 if hasattr(torch, 'nothing') else 6.0\nB = tl.constexpr(c)\n",
    "a generator that ends": "c = min(2.0, torch.inf)\ndef g():\n    global c\n    try:\n        yield\n    finally:\n        c = 5.0 if hasattr(torch, 'nothing') else 6.0\ni = g()\nnext(i)\ndel i\nB = tl.constexpr(c)\n",
    "a value that a try takes": "c = 2.0\ntry:\n    c = int(torch.randn(3).sum() * 0) + 3\nexcept Exception:\n    pass\nB = tl.constexpr(c)\n",
    "a list that a helper fills": "L = [2.0]\ndef setup():\n    if hasattr(flash_attn, 'fast'):\n        L[0] = 3.0\nsetup()\nB = tl.constexpr(L[0])\n",
    "a list under another name": "L = [2.0]\nM = {'l': L}\ndef setup():\n    M['l'].append(flash_attn.fast())\nsetup()\nB = tl.constexpr(L[-1])\n",
    "an attribute of a class": "class C:\n    w = 1.0\ndef setup():\n    C.w = flash_attn.fast()\nsetup()\nB = tl.constexpr(C.w)\n",
    "an attribute of a function": "def f():\n    f.v = flash_attn.fast()\nf.v = 2.0\nf()\nB = tl.constexpr(f.v)\n",
    "the value of a constant": "B = tl.constexpr(1.0)\ndef setup():\n    B.value = flash_attn.fast()\nsetup()\n",
    "an iterator": "it = iter((1.0, 2.0))\ndef setup():\n    flash_attn.fast()\n    next(it)\nsetup()\nB = tl.constexpr(next(it))\n",
    "what a closure holds": "def mk():\n    L = [2.0]\n    def put():\n        L[0] = flash_attn.fast()\n    return put, lambda: L[0]\nput, get = mk()\nput()\nB = tl.constexpr(get())\n",
    "a branch": "L = [2.0]\nif hasattr(torch, 'nothing'):\n    L[0] = 3.0\nB = tl.constexpr(L[0])\n",
    "a file": "c = 2.0\ntry:\n    c = float(open('/kernel/none').read())\nexcept OSError:\n    pass\nB = tl.constexpr(c)\n",
    "arithmetic of NumPy's": "import numpy as np\nc = 2.0\ntry:\n    c = float(np.float32(1) + 1)\nexcept Exception:\n    pass\nB = tl.constexpr(c)\n",
    "a decorator in the module": "V = [1.0]\ndef deco(f):\n    try:\n        V[0] = float(torch.randn(3))\n    except Exception:\n        pass\n    return f\n@deco\ndef g(): pass\nB = tl.constexpr(V[0])\n",
    "a function that its decorator calls": "c = min(2.0, torch.inf)\ndef now(f):\n    f()\n@now\ndef setup():\n    global c\n    c = 5.0 if hasattr(torch, 'nothing') else 6.0\nB = tl.constexpr(c)\n",
    "a method that its decorator calls": "c = min(2.0, torch.inf)\ndef now(f):\n    f()\nclass C:\n    @now\n    def setup():\n        global c\n        c = 5.0 if hasattr(torch, 'nothing') else 6.0\nB = tl.constexpr(c)\n",
    "a method that its base calls": "c = min(2.0, torch.inf)\nclass A:\n    w = 1.0\n    def __init_subclass__(cls):\n        cls.setup()\nclass C(A):\n    @staticmethod\n    def setup():\n        global c\n        c = 5.0 if hasattr(torch, 'nothing') else 6.0\nB = tl.constexpr(c + C.w)\n",
    "a function that is gone": "c = min(2.0, torch.inf)\nfor _ in (1,):\n    def f():\n        global c\n        c = 5.0 if hasattr(torch, 'nothing') else 6.0\n    f()\n    del f\nB = tl.constexpr(c)\n",
    "how it shows itself": "x = torch.randn(3)\nc = float(len(str(x)))\nB = tl.constexpr(c)\n",
    "how it is formatted": "x = torch.randn(3)\nc = 2.0\nif f'{x}' < 'z':\n    c = 3.0\nB = tl.constexpr(c)\n",
    "how a launch shows itself": "@triton.jit\ndef o(x):\n    pass\nh = o[(1,)](1)\nc = float(len(str(h)))\nB = tl.constexpr(c)\n",
    "a generator's state": "import random\nrandom.seed(1)\ntry:\n    random.seed(int(torch.randn(3)))\nexcept Exception:\n    pass\nB = tl.constexpr(random.random())\n",
    "a property": "class C:\n    @property\n    def v(self):\n        return 3.0 if isinstance(x, float) else 4.0\nx = torch.randn(3).item\nB = tl.constexpr(C().v)\n",
    "registers of a kernel": "@triton.jit\ndef o(x):\n    pass\nc = 2.0\ntry:\n    c = float(o[(1,)](1).n_regs)\nexcept Exception:\n    pass\nB = tl.constexpr(c)\n",
}  # fmt: skip

REFUSED_KERNELS = {
    "a default": "c = 2.0\ntry:\n    c = float(torch.randn(3))\nexcept Exception:\n    pass\n"
    "@triton.jit\ndef k(x_ptr, P: tl.constexpr = c):\n    tl.store(x_ptr, P)\n",
    "what it calls": "c = 2.0\ntry:\n    c = float(torch.randn(3))\nexcept Exception:\n    pass\n"
    "@triton.constexpr_function\ndef h():\n    return c\n"
    "@triton.jit\ndef g():\n    return h()\n@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, g())\n",
    "which of two functions it calls": "@triton.jit\ndef a():\n    return 1.0\n@triton.jit\ndef b():\n    return 2.0\n"
    "h = a\ntry:\n    h = b if float(torch.randn(3)) else a\nexcept Exception:\n    pass\n"
    "@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, h())\n",
    "which of two definitions it is": "if hasattr(torch, 'nothing'):\n    @triton.jit\n    def k(x_ptr):\n        tl.store(x_ptr, 1.0)\n"
    "else:\n    @triton.jit\n    def k(x_ptr):\n        tl.store(x_ptr, 2.0)\n",
}  # fmt: skip

EQUAL = {
    "a value that is bound anew": "c = 2.0\ntry:\n    c = float(torch.randn(3))\nexcept Exception:\n    pass\nc = 4.0\nB = tl.constexpr(c)\n",
    "methods of a class with a decorator": "import functools\nclass C:\n    v = 2.0\n    @property\n    def w(self):\n        return torch.randn(3) is None\n    @w.setter\n    def w(self, v):\n        self.v = v\nB = tl.constexpr(C.v)\n",
    "what is only printed": "L = [2.0]\nx = torch.randn(L[0])\nprint(x, L)\nB = tl.constexpr(L[0])\n",
    "another list": "L = [2.0]\nM = [1.0]\ndef setup():\n    M[0] = flash_attn.fast()\nsetup()\nB = tl.constexpr(L[0])\n",
    "a configuration that is only read": "C = {'a': 2.0}\nclass Model:\n    def __init__(self):\n        self.x = torch.randn(C['a'])\n"
    "model = Model()\nif model.x:\n    pass\nB = tl.constexpr(C['a'])\n",
    "a constant of torch's": "B = tl.constexpr(-torch.inf)\n",
    "a value beside a stand-in": "T = {torch.randn: 3.0, 'b': 2.0}\nB = tl.constexpr(T['b'])\n",
}  # fmt: skip

TUNED = (
    "def configs():\n    return [triton.Config({}, num_warps=1 if hasattr(torch, 'nothing') else 2)]\n"
    "CONFIGS = configs()\n@triton.autotune(configs=CONFIGS, key=[])\n"
    "@triton.heuristics({'X': lambda given: hasattr(torch, 'nothing')})\n"
)
HELPER = "import torch\nc = 2.0\ntry:\n    c = float(torch.randn(3))\nexcept Exception:\n    pass\n"


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_a_package_may_change_is_refused(comparison: Comparison, text: str) -> None:
    answers = _compared(comparison, {"user.py": HEAD + text + KERNEL})

    assert answers.verdict in {"refused_here", "both_refuse"}
    undecided = "the kernel depends on this statement, which cannot be decided here"
    missing = "the kernel may depend on this statement, which needs"
    assert undecided in answers.detail or missing in answers.detail


@pytest.mark.parametrize("text", REFUSED_KERNELS.values(), ids=REFUSED_KERNELS)
def test_a_kernel_in_doubt_is_refused(comparison: Comparison, text: str) -> None:
    answers = _compared(comparison, {"user.py": HEAD + text})

    assert answers.verdict == "refused_here"
    assert "which cannot be decided here" in answers.detail


@pytest.mark.parametrize("text", EQUAL.values(), ids=EQUAL)
def test_what_no_package_changes_is_what_python_makes(comparison: Comparison, text: str) -> None:
    answers = _compared(comparison, {"user.py": HEAD + text + KERNEL})

    assert answers.verdict == "equal", answers.detail


@pytest.mark.parametrize(
    "use",
    ["from helpers import c\nB = tl.constexpr(c)\n", "import helpers\nB = tl.constexpr(helpers.c)\n",
     "from helpers import *\nB = tl.constexpr(c)\n",
     "import helpers\nB = tl.constexpr(getattr(helpers, 'c'))\n",
     "import helpers, sys\nB = tl.constexpr(sys.modules['helpers'].c)\n",
     "from helpers import c as d\nB = tl.constexpr(d)\n"],
)  # fmt: skip
def test_what_a_file_leaves_in_doubt_is_refused_with_its_line(
    comparison: Comparison, use: str
) -> None:
    answers = _compared(comparison, {"user.py": HEAD + use + KERNEL, "helpers.py": HELPER})

    assert answers.verdict == "refused_here"
    assert "helpers.py, line 3: the kernel depends on this statement" in answers.detail


def test_what_a_file_tunes_by_decides_no_kernel(comparison: Comparison) -> None:
    plain = KERNEL.replace("B)", "1.0)")

    answers = _compared(
        comparison, {"user.py": "from helpers import k\n", "helpers.py": HEAD + TUNED + plain}
    )

    assert answers.verdict == "equal", answers.detail


def test_a_default_below_a_tuner_decides(comparison: Comparison) -> None:
    default = "D = 2.0 if hasattr(torch, 'nothing') else 3.0\n"
    kernel = "@triton.jit\ndef k(x_ptr, P: tl.constexpr = D):\n    tl.store(x_ptr, P)\n"

    answers = _compared(
        comparison,
        {"user.py": "from helpers import k\n", "helpers.py": HEAD + default + TUNED + kernel},
    )

    assert answers.verdict == "refused_here"


def test_a_name_of_the_module_itself_outlives_a_statement_that_fails(
    comparison: Comparison,
) -> None:
    text = "try:\n    float(torch.randn(3).sum()) * flash_attn.fast()\nfinally:\n    __name__ = 'other'\n"
    kernel = KERNEL.replace("B", "1.0")

    made, *_ = comparison.here({"user.py": HEAD + text + kernel}, {**REQUEST})

    assert "compiler_crashed" not in str(made)


def test_a_function_that_is_passed_to_a_kernel_decides(comparison: Comparison) -> None:
    text = (
        "c = 2.0\ntry:\n    c = float(torch.randn(3))\nexcept Exception:\n    pass\n"
        "B = tl.constexpr(c)\n@triton.jit\ndef f():\n    return B\n"
        "@triton.jit\ndef k(x_ptr, F: tl.constexpr):\n    tl.store(x_ptr, F())\n"
    )
    request = {**REQUEST, "constexprs": {"F": {"function": "f"}}, "functions": ["f"]}

    made, *_ = comparison.here({"user.py": HEAD + text}, request)

    assert "which cannot be decided here" in str(made)


def test_a_launch_returns_something(comparison: Comparison) -> None:
    other = "@triton.jit\ndef o(x):\n    pass\nh = o[(1,)](1)\n"
    text = HEAD + other + "B = tl.constexpr(3.0 if h is None else 4.0)\n" + KERNEL

    made, *_ = comparison.here({"user.py": text}, REQUEST)

    assert isinstance(made, dict), made
    assert "4.000000e+00" in made["source"]
