"""The client sends along the modules that a kernel of a larger application imports."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from tritonc.jit.jit_source import files_of, text_of

FILES = {
    "shop/__init__.py": "",
    "shop/kernels.py": "import json\nfrom .helpers import relu\nfrom shop.sizes import N\n"
    "from . import again\n\ndef double(): return relu\n",
    "shop/helpers.py": "from .deep.inner import inner\n\ndef relu(): return inner\n",
    "shop/again.py": "",
    "shop/sizes.py": "N = 4\n",
    "shop/deep/__init__.py": "",
    "shop/deep/inner.py": "from ..sizes import N\n\ndef inner(): return N\n",
}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("shop.kernels")
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def test_the_text_is_that_of_the_whole_file(shop: ModuleType):
    assert text_of(SimpleNamespace(fn=shop.double)) == FILES["shop/kernels.py"]


def test_modules_are_named_as_the_imports_find_them(shop: ModuleType):
    files = files_of(SimpleNamespace(fn=shop.double))

    assert files["helpers.py"] == FILES["shop/helpers.py"]
    assert files["shop/sizes.py"] == FILES["shop/sizes.py"]
    assert files["deep/inner.py"] == FILES["shop/deep/inner.py"]
    assert files["sizes.py"] == FILES["shop/sizes.py"]
    assert files["again.py"] == ""
    assert not any("json" in name for name in files)


def test_a_kernel_without_a_text_says_so():
    names: dict[str, object] = {}
    exec(compile("def typed(): ...", "<stdin>", "exec"), names)

    with pytest.raises(OSError, match="the text of <stdin> cannot be read"):
        text_of(SimpleNamespace(fn=names["typed"]))
