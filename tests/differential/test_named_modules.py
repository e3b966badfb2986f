"""Modules that once gave another kernel or a wrong error: one for each class of effect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.comparing import Comparison

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = "@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, B)\n"
HELPERS = {
    "helpers.py": "import triton.language as tl\nB = 1.0\ndef bump():\n    global B\n    B += 1\n"
}

EQUAL: dict[str, str] = {
    "an enumeration whose members bind a name": "import enum\nB = tl.constexpr(1.0)\nclass E(enum.Enum):\n    A = 1\n    def __init__(self, value):\n        global B\n        B = tl.constexpr(2.0)\n",
    "a try that fails before the last line": "try:\n    import cutlass\n    HAS = True\n"
    "except ImportError:\n    HAS = False\nB = tl.constexpr(2.0 if HAS else 3.0)\n",
    "the else of a try": "try:\n    x = 1\nexcept ValueError:\n    b = 1.0\nelse:\n    b = 4.0\nB = tl.constexpr(b)\n",
    "an assert in a try": "b = 1.0\ntry:\n    assert b > 2\n    b = 9.0\nexcept AssertionError:\n    b = 5.0\nB = tl.constexpr(b)\n",
    "a probe of Triton's names": "try:\n    tl.no_such_thing\n    b = 1.0\nexcept AttributeError:\n    b = 2.0\nB = tl.constexpr(b)\n",
    "a raise inside of an if of a try": "try:\n    if True:\n        raise KeyError\n    b = 1.0\nexcept KeyError:\n    b = 2.0\nB = tl.constexpr(b)\n",
    "a helper behind an import in a try": "try:\n    import nowhere\n    def f():\n        return 1.0\nexcept ImportError:\n    def f():\n        return 2.0\nB = tl.constexpr(f())\n",
    "a function that assigns a global": "B = tl.constexpr(1.0)\ndef setup():\n    global B\n    B = tl.constexpr(2.0)\n_ = setup()\n",
    "one that is called in a loop": "B = tl.constexpr(1.0)\ndef setup(v):\n    global B\n    B = tl.constexpr(v)\nfor v in (2.0, 3.0):\n    setup(v)\n",
    "one that a decorator calls": "B = tl.constexpr(1.0)\ndef now(f):\n    f()\n    return f\n@now\ndef setup():\n    global B\n    B = tl.constexpr(2.0)\n",
    "a method that changes its object": "class C:\n    b = 1.0\n    def set(self, v):\n        self.b = v\nc = C()\nc.set(3.0)\nB = tl.constexpr(c.b)\n",
    "a register": "D = {'b': 1.0}\ndef register(name, v):\n    D[name] = v\nregister('b', 5.0)\nB = tl.constexpr(D['b'])\n",
    "a register that is a decorator": "D = {}\ndef register(f):\n    D[f.__name__] = f\n    return f\n@register\ndef g():\n    return 2.0\nB = tl.constexpr(D['g']())\n",
    "an iterator": "it = iter((1.0, 2.0, 3.0))\nnext(it)\nfor _ in it:\n    break\nB = tl.constexpr(next(it))\n",
    "an iterator that is unpacked": "it = iter((1.0, 2.0, 3.0))\nx, y, _ = it\nB = tl.constexpr(float(next(it, 9.0)))\n",
    "a generator of numbers": "import random\nrandom.seed(3)\nB = tl.constexpr(random.random())\n",
    "the same under another name": "import random\nimport random as r\nfrom random import seed\nseed(3)\nr.random()\nB = tl.constexpr(random.random())\n",
    "a module under a local name": "import random\ndef seed():\n    import random as r\n    r.seed(3)\nseed()\nB = tl.constexpr(random.random())\n",
    "Triton under a local name": "def patch():\n    import triton.language as L\n    L.exp = L.log\npatch()\nB = tl.constexpr(float(tl.exp is tl.log))\n",
    "the module itself under a local name": "B = tl.constexpr(1.0)\ndef f():\n    import sys\n    sys.modules[__name__].B = tl.constexpr(2.0)\nf()\n",
    "a class that a function fills": "class C:\n    seen = []\ndef f(x, to=C.seen):\n    to.append(x)\nf(2.0)\nB = tl.constexpr(C.seen[-1])\n",
    "a walrus in a default": "B = tl.constexpr(1.0)\ndef f(x=(B := tl.constexpr(2.0))): pass\n",
    "a class that declares a global": "B = tl.constexpr(1.0)\nclass C:\n    global B\n    B = tl.constexpr(2.0)\n",
    "a decorator of a class body": "V = [1.0]\nclass C:\n    def register(f):\n        V[0] = 2.0\n        return f\n    @register\n    def g(): pass\nB = tl.constexpr(V[0])\n",
    "an alias": "D = {'b': 1.0}\nE = D\nE['b'] = 3.0\nB = tl.constexpr(D['b'])\n",
    "an alias in a container": "D = {'b': 1.0}\nbox = [D]\nbox[0]['b'] = 3.0\nB = tl.constexpr(D['b'])\n",
    "an alias of Triton": "from triton import language as L\nL.exp = L.log\nB = tl.constexpr(1.0)\n",
    "globals": "B = tl.constexpr(1.0)\nglobals()['B'] = tl.constexpr(2.0)\n",
    "exec": "B = tl.constexpr(1.0)\nexec('B = tl.constexpr(2.0)')\n",
    "the module itself": "import sys\nB = tl.constexpr(1.0)\nsys.modules[__name__].B = tl.constexpr(2.0)\n",
    "a subclass": "V = [1.0]\nclass A:\n    def __init_subclass__(cls):\n        V[0] = 2.0\nclass C(A):\n    pass\nB = tl.constexpr(V[0])\n",
    "an operator": "V = [1.0]\nclass A:\n    def __lshift__(self, v):\n        V[0] = v\nA() << 2.0\nB = tl.constexpr(V[0])\n",
    "a walrus in a comprehension": "[b := v for v in (1.0, 2.0)]\nB = tl.constexpr(b)\n",
    "a capture of a match": "match {'b': 4.0}:\n    case {'b': b}:\n        pass\nB = tl.constexpr(b)\n",
    "a while": "b = 1.0\nwhile b < 5:\n    b += b\nB = tl.constexpr(b)\n",
    "del": "b = 2.0\ndef f():\n    return 3.0\ndel f\ntry:\n    b = f()\nexcept NameError:\n    b = 7.0\nB = tl.constexpr(b)\n",
    "a name that is asked for": "OPT = 1\nB = tl.constexpr(2.0 if 'OPT' in dir() else 3.0)\n",
    "a context of decimal": "import decimal\ndecimal.getcontext().prec = 3\nB = tl.constexpr(float(decimal.Decimal(1) / 3))\n",
    "the level of a log": "import logging\nlogging.getLogger('k').setLevel(30)\nB = tl.constexpr(float(logging.getLogger('k').level))\n",
    "a counter": "import itertools\ncount = itertools.count()\nnext(count)\nB = tl.constexpr(float(next(count)))\n",
    "a function's own state": "def f(state=[0.0]):\n    state[0] += 1\n    return state[0]\nf()\nB = tl.constexpr(f())\n",
    "a foreign decorator that is ours": "def wrap(f):\n    global B\n    B = tl.constexpr(8.0)\n    return f\nB = tl.constexpr(1.0)\n@wrap\n@triton.jit\ndef other(x):\n    pass\n",
    "autotuning that has effects": "V = [1.0]\ndef configs():\n    V[0] = 2.0\n    return [triton.Config({})]\n@triton.autotune(configs=configs(), key=[])\n@triton.jit\ndef other(x_ptr):\n    pass\nB = tl.constexpr(V[0])\n",
    "a local that shadows a global": "b = 1.0\ndef f():\n    b = 3.0\n    return [b for b in (b,)][0]\nB = tl.constexpr(f() + b)\n",
    "a line that goes on": "b = 1.0; \\\nc = 2.0\nB = tl.constexpr(b)\n",
    "star imports that override": "B = tl.constexpr(1.0)\nfrom math import *\nB = tl.constexpr(pi)\n",
}  # fmt: skip

OF_MODULES = {
    "the docstring": "2.0 if __doc__ else 3.0",
    "the docstring among the globals": "2.0 if globals()['__doc__'] else 3.0",
    "the docstring of the object": "float(len(__import__('sys').modules[__name__].__doc__))",
    "the length of the docstring": "float(len(__doc__ or ''))",
    "the name": "float(len(__name__))",
    "the file": "float(len(__file__))",
    "the package": "1.0 + len(__package__ or '')",
    "the specification": "float(len(__spec__.name + (__spec__.origin or '')))",
    "the loader": "2.0 if __loader__ else 3.0",
    "the compiled file": "2.0 if __cached__ else 3.0",
    "the builtins": "2.0 if isinstance(__builtins__, dict) else 3.0",
    "the annotations": "float(len(__annotations__))",
    "the folder of a package": "2.0 if '__path__' in globals() else 3.0",
    "the line of a frame": "float(__import__('sys')._getframe().f_lineno)",
    "the line of a frame by inspect": "float(__import__('inspect').currentframe().f_lineno)",
    "the line of an error": "float(lineno())",
    "the line of a function": "float(lineno.__code__.co_firstlineno)",
    "the module of a function": "float(len(lineno.__module__))",
    "the globals of a frame": "float(len(__import__('sys')._getframe().f_globals))",
    "the constants of a frame": "float(len(__import__('sys')._getframe().f_code.co_filename))",
    "the name of a frame": "float(len(__import__('sys')._getframe().f_code.co_name))",
    "all globals": "float(len(globals()))",
    "all locals": "float(len(locals()))",
    "all variables": "float(len(vars()))",
    "the dictionary of the object": "float(len(__import__('sys').modules[__name__].__dict__))",
    "the order of the globals": "float(list(globals()).index('plain'))",
    "the module by import": "float(__import__('user').plain)",
    "the module by importlib": "float(__import__('importlib').import_module(__name__).plain)",
    "the text by inspect": "float(len(__import__('inspect').getsource(lineno)))",
    "the text of the module": "float(len(__import__('inspect').getsource(__import__('sys').modules[__name__])))",
    "the lines by linecache": "float(len(__import__('linecache').getline(__file__, 2)))",
    "the text by the loader": "float(len(__loader__.get_source(__name__)))",
    "whether it is the main module": "2.0 if __name__ == '__main__' else 3.0",
    "the class of the loader": "float(hasattr(__loader__, 'get_data'))",
    "all names": "float(len(dir()))",
}
"""Expressions that read what Python sets on a module."""
LINENO = (
    "def lineno():\n    try:\n        raise ValueError\n"
    "    except ValueError as error:\n        return error.__traceback__.tb_lineno\n"
)

KERNELS: dict[str, str] = {
    "a docstring before a future import": "'Text.'\nfrom __future__ import annotations\n" + HEAD + "B = tl.constexpr(2.0 if __doc__ else 3.0)\n" + KERNEL,
    "a docstring that is replaced": "'Text.'\n" + HEAD + "__doc__ = None\nB = tl.constexpr(2.0 if __doc__ else 3.0)\n" + KERNEL,
    "a docstring that is extended": "'Text.'\n" + HEAD + "__doc__ += 'more'\nB = tl.constexpr(float(len(__doc__)))\n" + KERNEL,
    "a text that is no docstring": "1\n'Text.'\n" + HEAD + "B = tl.constexpr(2.0 if __doc__ else 3.0)\n" + KERNEL,
    "a text that is no docstring beside globals": "1\n'Text.'\n" + HEAD + "g = globals()\nB = tl.constexpr(2.0 if __doc__ else 3.0)\n" + KERNEL,
    "definitions in both branches": HEAD + "if tl is None:\n    @triton.jit\n    def k(x_ptr):\n        tl.store(x_ptr, 1.0)\n"
    "else:\n    @triton.jit\n    def k(x_ptr, P: tl.constexpr = 2.0):\n        tl.store(x_ptr, P)\n",
    "a decorator in brackets": HEAD + "B = tl.constexpr(1.0)\n@(\n    triton.jit\n)\ndef k(x_ptr):\n    tl.store(x_ptr, B)\n",
    "a decorator that says it twice": HEAD + "B = tl.constexpr(1.0)\ndef same(f):\n    return f\n@same\n" + KERNEL,
    "a module that names itself otherwise": HEAD + "B = tl.constexpr(1.0)\n" + KERNEL + "__name__ = 'other'\n",
    "a default of an Enum is refused or the same": HEAD + "import enum\nclass E(enum.Enum):\n    A = 2.0\n"
    "@triton.jit\ndef k(x_ptr, P: tl.constexpr = E.A.value):\n    tl.store(x_ptr, P)\n",
}  # fmt: skip

FILES: dict[str, dict[str, str]] = {
    "a file that is changed": {"user.py": HEAD + "import helpers as H\nH.B = 3.0\nfrom helpers import B as b\nB = tl.constexpr(b)\n" + KERNEL},
    "a file that changes itself": {"user.py": HEAD + "import helpers\nhelpers.bump()\nB = tl.constexpr(helpers.B)\n" + KERNEL},
    "a file that changes another": {
        "user.py": HEAD + "import patch\nfrom helpers import B as b\nB = tl.constexpr(b)\n" + KERNEL,
        "patch.py": "import helpers\nhelpers.B = 5.0\n",
    },
    "a file that is found by name": {"user.py": HEAD + "import importlib\nB = tl.constexpr(importlib.import_module('helpers').B)\n" + KERNEL},
    "a star import that overrides": {"user.py": HEAD + "B = tl.constexpr(9.0)\nfrom constants import *\n" + KERNEL,
                                     "constants.py": "import triton.language as tl\nB = tl.constexpr(4.0)\n"},
    "a folder called kernel": {"user.py": HEAD + "from kernel.h import b\nB = tl.constexpr(b)\n" + KERNEL, "kernel/h.py": "b = 2.0\n", "h.py": "b = 7.0\n"},
    "a byte order mark": {"user.py": HEAD + "from marked import b\nB = tl.constexpr(b)\n" + KERNEL, "marked.py": "\ufeffb = 2.0\n"},
    "another encoding": {"user.py": HEAD + "from latin import b\nB = tl.constexpr(b)\n" + KERNEL,
                         "latin.py": "# -*- coding: latin-1 -*-\nb = float(len('\u00e9'))\n"},
    "a file with another encoding": {"user.py": "# -*- coding: latin-1 -*-\n" + HEAD + "B = tl.constexpr(float(len('\u00e9')))\n" + KERNEL},
    "another encoding on the second line": {"user.py": "#!python\n# coding: koi8-r\n" + HEAD + "B = tl.constexpr(float(ord('\u044f')))\n" + KERNEL},
    "a mark and a coding line": {"user.py": "\ufeff# coding: utf-8\n" + HEAD + "B = tl.constexpr(float(len('\u00e9')))\n" + KERNEL},
    "what a module says of itself": {"user.py": HEAD + "from pkg.sub import b\nB = tl.constexpr(b)\n" + KERNEL,
                                     "pkg/__init__.py": "", "pkg/sub.py": "b = float(len(__name__ + __file__ + __package__))\n"},
    "a text in a file that is no docstring": {"user.py": HEAD + "from late import b\nB = tl.constexpr(b)\n" + KERNEL,
                                               "late.py": "1\n'Text.'\nb = 2.0 if __doc__ else 3.0\n"},
    "a while in a file": {"user.py": HEAD + "from looped import b\nB = tl.constexpr(b)\n" + KERNEL, "looped.py": "b = 1.0\nwhile b < 9:\n    b += 3\n"},
    "a file that is tried": {"user.py": HEAD + "try:\n    from broken import b\nexcept ImportError:\n    b = 6.0\nB = tl.constexpr(b)\n" + KERNEL,
                             "broken.py": "import cutlass\nb = 2.0\n"},
    "a file that is tried by finders that look anew": {"user.py": "import importlib\nimportlib.invalidate_caches()\n" + HEAD + "try:\n    from broken import b\nexcept ImportError:\n    b = 6.0\nB = tl.constexpr(b)\n" + KERNEL,
                             "broken.py": "import cutlass\nb = 2.0\n"},
}  # fmt: skip

OF_NUMPY = {
    "pi": "np.pi",
    "a bound": "-np.inf",
    "no value": "np.nan",
    "a double": "np.float64(0.1) * 3 + 1",
    "a float that is converted": "float(np.float32(0.1))",
    "a half that is converted": "float(-np.float16(0.1))",
    "an integer that is converted": "float(int(np.int64(5)))",
    "the limit of a float": "float(np.finfo(np.float32).max)",
    "the limit of a double": "np.finfo(np.float64).eps",
    "the limit of an integer": "float(np.iinfo(np.int32).max)",
    "the kind of a double": "2.0 if isinstance(np.float64(1), float) else 3.0",
    "the kind of a float": "2.0 if isinstance(np.float32(1), float) else 3.0",
}

REFUSED = {
    "a float of NumPy's that is stored": "import numpy as np\nB = tl.constexpr(np.float32(1.5))\n",
    "an assert": "assert tl is None\nB = tl.constexpr(1.0)\n",
    "a raise": "B = tl.constexpr(1.0)\nraise RuntimeError('no')\n",
    "an exit": "import sys\nB = tl.constexpr(1.0)\nsys.exit(3)\n",
    "an unbound name": "B = tl.constexpr(1.0)\nz = y + 1\n",
    "what only Python's compiler refuses": "def f():\n    from math import *\nB = tl.constexpr(1.0)\n",
    "a default of a dataclass": "from dataclasses import dataclass\n@dataclass\nclass C:\n    value: float = 2.0\n"
    "B = C()\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def comparison() -> Iterator[Comparison]:
    running = Comparison()
    yield running
    running.close()


@pytest.mark.parametrize("text", EQUAL.values(), ids=EQUAL)
def test_an_effect_is_seen(comparison: Comparison, text: str) -> None:
    answers = comparison.compare({"user.py": HEAD + text + KERNEL})

    assert answers.verdict == "equal", answers.detail


@pytest.mark.parametrize("expression", OF_MODULES.values(), ids=OF_MODULES)
def test_a_module_has_what_python_sets_on_it(comparison: Comparison, expression: str) -> None:
    unreached = "unused: int = 3\nplain = 4\n" + LINENO
    text = f"'A docstring.'\n{HEAD}{unreached}B = tl.constexpr({expression})\n{KERNEL}"

    answers = comparison.compare({"user.py": text})

    assert answers.verdict == "equal", answers.detail


@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS)
def test_a_kernel_is_what_python_defines(comparison: Comparison, text: str) -> None:
    answers = comparison.compare({"user.py": text})

    assert answers.verdict == "equal", answers.detail


@pytest.mark.parametrize("files", FILES.values(), ids=FILES)
def test_files_are_executed_as_python_does(comparison: Comparison, files: dict[str, str]) -> None:
    answers = comparison.compare({**HELPERS, **files})

    assert answers.verdict == "equal", answers.detail


@pytest.mark.parametrize("expression", OF_NUMPY.values(), ids=OF_NUMPY)
def test_a_constant_of_numpy_is_what_numpy_has(comparison: Comparison, expression: str) -> None:
    text = f"import numpy as np\nB = tl.constexpr({expression})\n"

    answers = comparison.compare({"user.py": HEAD + text + KERNEL})

    assert answers.verdict == "equal", answers.detail


def test_what_numpy_computes_is_refused(comparison: Comparison) -> None:
    text = "import numpy as np\nB = tl.constexpr(np.log(2.0))\n"

    answers = comparison.compare({"user.py": HEAD + text + KERNEL})

    assert answers.verdict == "refused_here"
    assert "numpy.log(), and numpy is not installed" in answers.detail


@pytest.mark.parametrize("coding", ["nowhere", "ascii", "utf-16", "rot13"])
def test_an_encoding_that_python_refuses_is_refused(comparison: Comparison, coding: str) -> None:
    text = f"# coding: {coding}\n{HEAD}B = tl.constexpr(float(len('\u00e9')))\n{KERNEL}"

    answers = comparison.compare({"user.py": text})

    assert answers.verdict == "both_refuse"
    assert "leave this line out" in answers.detail


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_python_refuses_is_refused(comparison: Comparison, text: str) -> None:
    assert comparison.compare({"user.py": HEAD + text + KERNEL}).verdict == "both_refuse"
