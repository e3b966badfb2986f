"""The task that packs a compilation as Triton's own cache keeps it, for a hit elsewhere.

Unpacking is not enough, as Triton lists the files of an entry by their absolute paths: so a program
inside of the export puts the files where Triton looks for them.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.abi import Abi
from compiler.back import contexts, locations, nvdisasm, triton_api
from compiler.export.exported_kernel import kernel_of
from compiler.export.header_comment import about
from compiler.messages.orders import TritonCacheOrder
from compiler.messages.wire import Send
from compiler.target import BACKENDS

_PROGRAM = '''\
"""{words}

Puts this kernel into Triton's cache (TRITON_CACHE_DIR, or .triton/cache below TRITON_HOME or the
home folder), so that Triton's JIT does not compile it again. It is a hit where this is equal:

- Triton {triton}, the same wheel: also for the same minor version of Python ({python} here)
- the text of the kernel and of the functions it uses, on the same lines of their files
- the types, hints and constants of the arguments, as listed above, and the options
- no environment variable that changes compiling (TRITON_DEFAULT_FP_FUSION, MLIR_..., LLVM_...)
"""

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

FOLDERS = {folders}
NAME = "{name}.json"
FILES = {files}


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=form).parse_args()
    home = Path(os.environ.get("TRITON_HOME") or Path.home())
    cache = Path(os.environ.get("TRITON_CACHE_DIR") or home / ".triton" / "cache")
    for folder in FOLDERS:
        install(Path(__file__).resolve().parent / folder, cache.resolve() / folder)


def install(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for file in FILES:
        put(target / file, (source / file).read_bytes())
    paths = {{file: str(target / file) for file in FILES}}
    # last, because Triton believes an entry as soon as this file is there
    put(target / ("__grp__" + NAME), json.dumps({{"child_paths": paths}}).encode())
    sys.stdout.write(f"{{target}}\\n")


def put(path: Path, data: bytes) -> None:
    written = path.with_name(path.name + f".{{os.getpid()}}")
    written.write_bytes(data)
    shutil.move(written, path)


main()
'''


def installer(
    folders: Sequence[str], name: str, files: Sequence[str], facts: Mapping[str, Any]
) -> str:
    """Return the program, for entries called `folders` with these `files` each."""
    words = "\n".join(about(kernel_of(facts)))
    return _PROGRAM.format(
        words=words,
        folders=list(folders),
        name=name,
        files=list(files),
        triton=facts["toolchain"]["triton"],
        python=facts["python"],
    )


MAX_NAME = 150
"""Length of the files' names, as Triton truncates them."""


def triton_cache(order: TritonCacheOrder, body: bytes, send: Send) -> None:
    """Send a tar with the files of the cache entry and a program that installs them.

    Each of the hashes has a folder in it, with the artifacts in `body`.
    """
    artifacts = nvdisasm.split(body, order.sizes)
    backend = triton_api.make_backend(triton_api.target_of(order.target))
    options = backend.parse_options({**order.options})
    name = order.name[:MAX_NAME]
    facts = {**order.record, "python": ".".join(platform.python_version_tuple()[:2])}
    files = {f"{name}.{stage}": data for stage, data in artifacts.items()}
    packed: dict[str, bytes] = {}
    folders = []
    for source_hash in order.source_hashes:
        digest = _hash(source_hash, backend, options)
        metadata = _metadata(facts, digest, backend, options, artifacts)
        folders.append(triton_api.cache_folder(digest))
        packed[f"{folders[-1]}/{name}.json"] = json.dumps(metadata, default=vars).encode()
    program = installer(folders, name, sorted([*files, f"{name}.json"]), facts)
    packed["install.py"] = program.encode()
    send({"kind": "stage", "stage": "triton_cache", "ms": 0.0}, _tar(packed, files, folders))


def _hash(source_hash: str, backend: Any, options: Any) -> str:
    key = triton_api.cache_key_of(source_hash, backend, options)
    return hashlib.sha256(key.encode()).hexdigest()


def _metadata(
    facts: dict[str, Any], digest: str, backend: Any, options: Any, artifacts: dict[str, bytes]
) -> dict[str, Any]:
    """Return the metadata that Triton stores with artifacts: options, and results of stages."""
    known, abi = facts["metadata"], Abi.from_json(facts["abi"])
    return {
        "hash": digest,
        "target": backend.target,
        **vars(options),
        "triton_version": facts["toolchain"]["triton"],
        "name": known["name"],
        "num_warps": known["num_warps"],
        "shared": known["shared_bytes"],
        **_of_backend(known, abi, backend),
        "profile_scratch_size": abi.profile_scratch.size_bytes,
        "profile_scratch_align": abi.profile_scratch.align_bytes,
        "tensordesc_meta": _tensor_descriptors(artifacts["ttgir"].decode(), backend),
    }


def _of_backend(known: Mapping[str, Any], abi: Abi, backend: Any) -> dict[str, Any]:
    """Return what not every backend of every version keeps."""
    metadata: dict[str, Any] = {}
    if BACKENDS[backend.target.backend].has_tensor_memory:
        metadata["tmem_size"] = known["tmem_columns"]
    if triton_api.has_global_scratch(backend.target.backend):
        metadata["global_scratch_size"] = abi.global_scratch.size_bytes
        metadata["global_scratch_align"] = abi.global_scratch.align_bytes
    return metadata


def _tensor_descriptors(ttgir: str, backend: Any) -> Any:
    module = locations.parse(ttgir, contexts.new_context(backend))
    return module.get_tensordesc_metadata()


def _tar(single: dict[str, bytes], shared: dict[str, bytes], folders: list[str]) -> bytes:
    """Return a tar that is equal for equal files; `shared` ones are in it once."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in sorted(single.items()):
            archive.addfile(_entry(path, len(data)), io.BytesIO(data))
        first, *others = folders
        for file, data in sorted(shared.items()):
            archive.addfile(_entry(f"{first}/{file}", len(data)), io.BytesIO(data))
            for folder in others:
                link = _entry(f"{folder}/{file}", 0)
                link.type, link.linkname = tarfile.LNKTYPE, f"{first}/{file}"
                archive.addfile(link)
    return packed.getvalue()


def _entry(path: str, size_bytes: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = size_bytes, 0o644
    return entry
