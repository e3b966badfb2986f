"""Python that kernels cannot contain, by syntax node: its name, and what to write instead."""

from __future__ import annotations

CONSTRUCTS: dict[str, tuple[str, str]] = {
    "Break": ("`break`", "Use `while` with a condition, or mask the remaining iterations."),
    "Continue": ("`continue`", "Put the rest of the loop's body under an `if`."),
    "Try": (
        "`try`",
        "A kernel has no exceptions: leave out the try and check with masks or tl.device_assert.",
    ),
    "Raise": ("`raise`", "A kernel has no exceptions: use tl.static_assert or tl.device_assert."),
    "Lambda": ("`lambda`", "Write a function with @triton.jit and call it."),
    "Dict": ("a dictionary", "Use separate variables or a tuple."),
    "DictComp": ("a dictionary", "Use separate variables or a tuple."),
    "Set": ("a set", "Use separate variables or a tuple."),
    "SetComp": ("a set", "Use separate variables or a tuple."),
    "GeneratorExp": ("a generator", "Use a loop over tl.static_range or a tuple."),
    "Import": ("`import`", "Import at the top of the file."),
    "ImportFrom": ("`import`", "Import at the top of the file."),
    "ClassDef": ("a class", "Define it outside of the kernel."),
    "AsyncFunctionDef": ("`async def`", "Write a function with @triton.jit at module level."),
    "Await": ("`await`", "Kernels are not asynchronous."),
    "Yield": ("`yield`", "Return a tuple instead."),
    "Delete": ("`del`", "Leave it out: nothing has to be freed in a kernel."),
    "Global": ("`global`", "Pass the value as a parameter and return the new one."),
    "Nonlocal": ("`nonlocal`", "Pass the value as a parameter and return the new one."),
    "Match": (
        "`match`",
        "Use `if` and `elif`; conditions on tl.constexpr values are decided at compile time.",
    ),
    "Starred": ("`*`", "Write the elements one by one."),
    "AsyncFor": ("`async for`", "Use `for i in range(...)`."),
    "TemplateStr": (
        "a template string",
        "Strings are for tl.static_print and tl.device_print only.",
    ),
}
