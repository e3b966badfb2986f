"""Errors on a machine whose GPUs cannot be counted."""

import sys

import pytest

from worker.gpu.supervisor import devices


def test_without_the_binding_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.delitem(sys.modules, "worker.gpu.launcher.device", raising=False)

    with pytest.raises(SystemExit, match=r"no module 'cuda.*pip install 'tritond\[gpu\]'"):
        devices.main()
