"""Names that running code may read and change, from its bytecode."""

from __future__ import annotations

import types
from typing import Any

import pytest

from compiler.front.code_reach import facts_of, identity, reach_of

FILE = "/kernel/user.py"


def _reached(text: str, statement: str, most: int = 1000) -> tuple[dict[str, Any], Any]:
    namespace: dict[str, Any] = {}
    exec(compile(text, FILE, "exec"), namespace)
    code = compile(statement, FILE, "exec")
    return namespace, reach_of(facts_of(code, bodies=False), namespace, most)


def _names(reach: Any) -> set[str]:
    return {name for _, name in reach.names}


def test_functions_are_gone_into() -> None:
    text = "L = []\nother = 1\ndef inner():\n    L.append(1)\ndef outer():\n    inner()\n"

    namespace, reach = _reached(text, "outer()")

    assert _names(reach) == {"outer", "inner", "L"}
    assert identity(namespace["L"]) in reach.exposed


def test_what_a_function_declares_global_is_bound() -> None:
    _, reach = _reached("c = 1\ndef f():\n    global c\n    c = 2\n", "f()")

    assert {name for _, name in reach.binds} == {"c"}


def test_what_is_only_read_is_not_exposed() -> None:
    text = "D = {'a': 1}\nE = {'a': []}\n"

    namespace, reach = _reached(text, "x = D['a'] + D.get('b', 2)\ny = E['a']")

    assert identity(namespace["D"]) not in reach.exposed
    assert identity(namespace["E"]) in reach.exposed


def test_a_definition_reads_its_defaults_and_not_its_body() -> None:
    _, reach = _reached("a = 1\nb = 2\n", "def f(x=a):\n    return b")

    assert _names(reach) == {"a"}


def test_unbound_names_are_missing() -> None:
    _, reach = _reached("", "try:\n    x = nowhere\nexcept NameError:\n    x = len([])")

    assert reach.missing == {"nowhere"}
    assert reach.catches


def test_asking_which_object_something_is_is_seen() -> None:
    asks = ("a is None", "isinstance(a, int)", "1 if a is None else 2", "a + 1", "a == 1")

    compares = [_reached("a = 1\n", f"x = {ask}")[1].compares for ask in asks]

    assert compares == [True, True, True, False, False]


def test_what_reaches_too_much_may_reach_all() -> None:
    text = "L = [[] for _ in range(100)]\n"

    assert not _reached(text, "L", 1000)[1].sees_all
    assert _reached(text, "L", 50)[1].sees_all


def test_a_module_by_its_written_name_is_not_all_that_there_is() -> None:
    reads = ("sys.modules['json']", "sys.modules.get('json')", "sys.modules['json.x'] = 1")
    others = ("sys.modules[name]", "sys.modules.get('js' + name)", "sys.modules")

    def sees_all(statement: str) -> bool:
        return bool(_reached("import sys, json\n", statement)[1].sees_all)

    assert [sees_all(f"x = {read}") for read in reads] == [False, False, False]
    assert [sees_all(f"x = {other}") for other in others] == [True, True, True]
    assert sees_all("x = sys.modules.get('not_loaded')")


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("getattr(m, 'A')", {"A"}),
        ("getattr(m, 'A', 1)", {"A"}),
        ("getattr(m, 'A' + end)", {"A", "AB"}),
        ("getattr(m, name)", {"A", "AB"}),
        ("list(map(getattr, [m], names))", {"A", "AB"}),
    ],
)
def test_an_attribute_by_its_written_name_is_the_only_one(statement: str, names: set[str]) -> None:
    module = types.ModuleType("m")
    module.__file__ = FILE
    vars(module).update(A=1, AB=2)
    namespace = {"m": module, "end": "B", "name": "AB", "names": ["AB"]}

    reach = reach_of(facts_of(compile(statement, FILE, "eval"), bodies=False), namespace, most=1000)

    assert _names(reach) & {"A", "AB"} == names
