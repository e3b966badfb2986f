"""The source and files of a program, and the source from which to compile each kernel."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from compiler.diagnostic import USER_FILE
from compiler.parameter_binding import BindingFailed
from programs.tape.schema import TapeKernel


@dataclass(frozen=True, slots=True)
class PostedKernel:
    """A source with a kernel called `name`, and the files that it imports.

    With `is_own`, it is the program's source, so lines agree; else it only imports the kernel.
    """

    source: str
    files: Mapping[str, str]
    name: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class ProgramTexts:
    """A program's own source, and its other files by path."""

    source: str
    files: Mapping[str, str]

    @property
    def body(self) -> bytes:
        """The body of a record order, as JSON."""
        return json.dumps({"source": self.source, "files": dict(self.files)}).encode()

    def of(self, kernel: TapeKernel) -> PostedKernel:
        """Return the source to compile `kernel` from. Raises BindingFailed if there is none."""
        name = kernel.name
        if not all(part.isidentifier() for part in name.split(".")):
            message = f"`{kernel.name}` is not a function's name, so no kernel can have it"
            raise BindingFailed("unknown_kernel", message, kernel.name)
        if kernel.file == USER_FILE:
            return PostedKernel(self.source, self.files, name, is_own=True)
        if kernel.file not in self.files:
            message = (
                f"the kernel `{kernel.name}` is defined in {kernel.file}, which was not posted: "
                "add it to `files`, so that the kernel can be compiled"
            )
            raise BindingFailed("unknown_kernel", message, kernel.name)
        module = kernel.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        owner, *attributes = name.split(".")
        text = f"from {module} import {owner}\n"
        if attributes:
            text += f"{attributes[-1]} = {name}\n"
        return PostedKernel(text, self.files, [owner, *attributes][-1], is_own=False)
