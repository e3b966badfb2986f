"""The task that packs a compilation as Triton's own cache keeps it, for a hit elsewhere."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Callable
from typing import Any

from compiler.export.installer import installer
from compiler.making import locations, parts, toolchain

Send = Callable[[dict[str, Any], bytes], None]

LONGEST_NAME = 150
"""Of the files, as Triton truncates it."""


def triton_cache(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Send a tar with the files of the cache entry and a program that installs them.

    `header` has target, options, `facts` (the record), the `name` and `source_hash` that
    `cache_key` returned, and the `sizes` of the artifacts in `body`.
    """
    artifacts = parts.split(body, header["sizes"])
    backend = toolchain.make_backend(toolchain.target_of(header["target"]))
    options = backend.parse_options(header["options"])
    digest = _hash(header["source_hash"], backend, options)
    name = header["name"][:LONGEST_NAME]
    metadata = _metadata(header["facts"], digest, backend, options, artifacts)
    files = {f"{name}.{stage}": data for stage, data in artifacts.items()}
    facts = header["facts"] | {"python": ".".join(platform.python_version_tuple()[:2])}
    files[f"{name}.json"] = json.dumps(metadata, default=vars).encode()
    folder = toolchain.cache_folder(digest)
    packed = {f"{folder}/{path}": data for path, data in files.items()}
    packed["install.py"] = installer(folder, name, sorted(files), facts).encode()
    send({"kind": "stage", "stage": "triton_cache", "ms": 0.0}, _tar(packed))
    return {}


def _hash(source_hash: str, backend: Any, options: Any) -> str:
    key = toolchain.cache_key_of(source_hash, backend, options)
    return hashlib.sha256(key.encode()).hexdigest()


def _metadata(
    facts: dict[str, Any], digest: str, backend: Any, options: Any, artifacts: dict[str, bytes]
) -> dict[str, Any]:
    """Return what Triton keeps beside the artifacts: options, and what the stages found out."""
    known, abi = facts["metadata"], facts["abi"]
    return {
        "hash": digest,
        "target": backend.target,
        **vars(options),
        "triton_version": facts["toolchain"]["triton"],
        "name": known["name"],
        "num_warps": known["num_warps"],
        "shared": known["shared_bytes"],
        "tmem_size": known["tmem_columns"],
        "global_scratch_size": abi["global_scratch"]["size_bytes"],
        "global_scratch_align": abi["global_scratch"]["align_bytes"],
        "profile_scratch_size": abi["profile_scratch"]["size_bytes"],
        "profile_scratch_align": abi["profile_scratch"]["align_bytes"],
        "tensordesc_meta": _tensor_descriptors(artifacts["ttgir"].decode(), backend),
    }


def _tensor_descriptors(ttgir: str, backend: Any) -> Any:
    module = locations.parse(ttgir, toolchain.new_context(backend))
    return module.get_tensordesc_metadata()


def _tar(files: dict[str, bytes]) -> bytes:
    """Return a tar that is the same for the same files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, data in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()
