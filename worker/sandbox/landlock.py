"""Landlock: a ruleset that names every file a child may reach; without rules it reaches none.

Follows the kernel's Documentation/userspace-api/landlock.rst. The ruleset is built once and entered
by every child.
"""

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from worker.sandbox.libc import syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same number on every machine
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV
_ALL_OF_ABI_1 = (1 << 13) - 1

READ = READ_FILE | READ_DIR
RUN = READ | EXECUTE


def abi() -> int:
    """Return the kernel's Landlock version.

    Raises OSError where Landlock is absent or switched off.
    """
    return syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)


def _handled_rights(version: int) -> tuple[int, int, int]:
    """Return everything that `version` can deny: file rights, network rights, scopes."""
    files = _ALL_OF_ABI_1
    for bit, since in ((1 << 13, 2), (_TRUNCATE, 3), (_IOCTL_DEV, 5)):
        if version >= since:
            files |= bit
    return files, (3 if version >= 4 else 0), (3 if version >= 6 else 0)


def build(rules: Iterable[tuple[str, int]]) -> int:
    """Return the descriptor of a ruleset that denies all but `rules` (path, rights).

    Raises OSError.
    """
    version = abi()
    handled = _handled_rights(version)
    size = 8 if version < 4 else 16 if version < 6 else 24
    attributes = ctypes.create_string_buffer(struct.pack("=QQQ", *handled), 24)
    ruleset = syscall(_CREATE_RULESET, attributes, size, 0)
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & handled[0])
    except OSError:
        os.close(ruleset)
        raise
    return ruleset


def _allow(ruleset: int, path: str, rights: int) -> None:
    target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not Path(path).is_dir():
            rights &= _FILE_RIGHTS
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, target), 12)
        syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(target)


def enter(ruleset: int) -> None:
    """Restrict this process to `ruleset`, irrevocably. NO_NEW_PRIVS must be set. Raises OSError."""
    syscall(_RESTRICT_SELF, ruleset, 0)
