"""Which toolchain a deployment compiles with when its workers have changed.

An operator decides it for a fleet (`tritond toolchain`). `tritond up` decides for itself, as its
own worker is all there is: with a default that only an older installation had, all would queue for
ever. Never touches compilations.
"""

from compiler.toolchain import Toolchain
from store.workers import Toolchains, Workers


async def succeed(workers: Workers, toolchains: Toolchains) -> list[str]:
    """Forget what no living worker offers, and have a default that one does; say what changed."""
    living = {
        offered
        for worker in await workers.list()
        if worker.kind == "compile"
        for offered in worker.served
    }
    known = {
        name: Toolchain.model_validate_json(description)
        for name, description in (await toolchains.list()).items()
    }
    default, there = await toolchains.default(), sorted(known.keys() & living)
    if not there:
        return []
    said = []
    if default not in living:
        chosen = max(there, key=lambda name: _newness(known[name]))
        await toolchains.set_default(chosen)
        said.append(f"the default toolchain is now {chosen} (Triton {known[chosen].triton})")
    for gone in sorted(known.keys() - living):
        await toolchains.forget(gone)
        said.append(f"toolchain {gone} (Triton {known[gone].triton}) is not offered any more")
    return said


def _newness(toolchain: Toolchain) -> list[int]:
    return [int(part) for part in toolchain.triton.split(".") if part.isdigit()]
