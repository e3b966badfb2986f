"""The package of a jit function has the modules of its process, which are not looked into."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tritonc.jit.jit_source import package_of_function, text_of
from tritonc.packages.module_sources import LoadedModules, module_name_in_process

FILES = {
    "shop/__init__.py": "",
    "shop/kernels.py": "from .helpers import relu\n\ndef double(): return relu\n",
    "shop/helpers.py": "def relu(): return 1\n",
    "shop/plain/inner.py": "N = 1\n",
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("shop.plain.inner")
    yield importlib.import_module("shop.kernels")
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


class SaysYes(ModuleType):
    """A module that has every name, as torch.ops does."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was looked up")


def test_the_text_is_that_of_the_whole_file(shop: ModuleType) -> None:
    assert text_of(SimpleNamespace(fn=shop.double)) == FILES["shop/kernels.py"]


def test_its_module_is_named_as_in_the_process(shop: ModuleType) -> None:
    package = package_of_function(SimpleNamespace(fn=shop.double))

    assert package.members == {"module": "shop.kernels", "files": {"shop/__init__.py": ""}}


def test_loaded_modules_are_sent_and_others_are_absent(shop: ModuleType) -> None:
    package = package_of_function(SimpleNamespace(fn=shop.double))

    assert package.supply(["shop.helpers"])
    assert package.supply(["shop.plain.inner", "shop.plain", "vllm.ops"])

    assert package.files == {
        "shop/__init__.py": "",
        "shop/helpers.py": FILES["shop/helpers.py"],
        "shop/plain/inner.py": "N = 1\n",
        "shop/plain/__init__.py": "",
    }
    assert package.absent == ["vllm"]


def test_a_module_that_answers_to_any_name_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "says_yes", SaysYes("says_yes"))

    assert LoadedModules().find("says_yes") is None


def test_what_is_no_module_or_no_python_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = ModuleType("compiled")
    compiled.__file__ = "/lib/compiled.so"
    monkeypatch.setitem(sys.modules, "compiled", compiled)
    monkeypatch.setitem(sys.modules, "odd", SimpleNamespace(__file__="odd.py"))  # type: ignore[arg-type]

    assert LoadedModules().find("compiled") is None
    assert LoadedModules().find("odd") is None


NAMES: dict[str, tuple[dict[str, object], str]] = {
    "a module": ({"__name__": "pkg.k", "__file__": "/x/pkg/k.py"}, "pkg.k"),
    "a package": ({"__name__": "pkg", "__path__": ["/x/pkg"]}, "pkg.__init__"),
    "a script": ({"__name__": "__main__", "__file__": "/x/train.py"}, "train"),
    "a script that no import can name": (
        {"__name__": "__main__", "__file__": "/x/my-train.py"}, "user",
    ),
    "a module run as a script": (
        {"__name__": "__main__", "__spec__": SimpleNamespace(name="pkg.run")}, "pkg.run",
    ),
    "a notebook": ({"__name__": "__main__"}, "user"),
}  # fmt: skip


@pytest.mark.parametrize(("names", "expected"), NAMES.values(), ids=NAMES)
def test_the_name_of_a_file_in_a_process(names: dict[str, object], expected: str) -> None:
    assert module_name_in_process(names, "") == expected


def test_a_kernel_without_a_text_says_so() -> None:
    names: dict[str, object] = {}
    exec(compile("def typed(): ...", "<stdin>", "exec"), names)

    with pytest.raises(OSError, match="the text of <stdin> cannot be read"):
        text_of(SimpleNamespace(fn=names["typed"]))
