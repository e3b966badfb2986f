"""Modules that a zygote imports before it forks, since its children open no file.

What is not here can be imported by no source that is executed in a child.
"""

import importlib
import importlib.util
from collections.abc import Iterable

from compiler.languages import LANGUAGES

PRELOADED = (
    "__future__", "abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "builtins",
    "calendar", "cmath", "codecs", "collections", "collections.abc", "colorsys", "configparser",
    "contextlib", "contextvars", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib",
    "enum", "errno", "fnmatch", "fractions", "glob", "graphlib", "locale", "queue", "reprlib",
    "secrets", "shlex", "shutil", "stat", "subprocess", "tempfile", "timeit", "zlib",
    "functools", "gc", "hashlib", "heapq", "inspect", "io", "itertools", "json", "keyword",
    "logging", "logging.config", "math", "numbers", "operator", "os", "os.path",
    "pathlib", "pickle", "platform", "pprint",
    "random", "re", "statistics", "string", "struct", "sys", "textwrap", "threading", "time",
    "traceback", "types", "typing", "unicodedata", "unittest",
    "uuid", "warnings", "weakref",
    "triton.language", "triton.language.math", "triton.language.core", "triton.language.random",
    "triton.language.standard", "triton.language.semantic", "triton.language.target_info",
    "triton.language.extra", "triton.language.extra.libdevice", "triton.language.extra.cuda",
    "triton.language.extra.cuda.libdevice", "triton.language.extra.cuda.gdc",
    "triton.language.extra.cuda.utils", "triton.language.extra.hip",
    "triton.language.extra.hip.libdevice", "triton.runtime", "triton.runtime.driver",
    "triton.runtime.jit", "triton.runtime.autotuner", "triton.compiler",
    "triton.compiler.code_generator", "triton.testing", "triton.tools.tensor_descriptor",
    "triton.tools.mxfp", "triton.tools.ragged_tma", "triton.experimental",
    *(module for language in LANGUAGES for module in language.modules),
)  # fmt: skip


def preload(names: Iterable[str]) -> None:
    """Import those of these modules that this environment has."""
    for name in names:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            continue
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # this version has no such module, and user code that imports it gets an error
