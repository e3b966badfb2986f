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

    `header` has target, options, `facts` (the record), the `name` and `source_hashes` that
    `cache_key` returned, and the `sizes` of the artifacts in `body`. Each hash has a folder.
    """
    artifacts = parts.split(body, header["sizes"])
    backend = toolchain.make_backend(toolchain.target_of(header["target"]))
    options = backend.parse_options(header["options"])
    name = header["name"][:LONGEST_NAME]
    facts = header["facts"] | {"python": ".".join(platform.python_version_tuple()[:2])}
    files = {f"{name}.{stage}": data for stage, data in artifacts.items()}
    packed: dict[str, bytes] = {}
    folders = []
    for source_hash in header["source_hashes"]:
        digest = _hash(source_hash, backend, options)
        metadata = _metadata(facts, digest, backend, options, artifacts)
        folders.append(toolchain.cache_folder(digest))
        packed[f"{folders[-1]}/{name}.json"] = json.dumps(metadata, default=vars).encode()
    program = installer(folders, name, sorted([*files, f"{name}.json"]), facts)
    packed["install.py"] = program.encode()
    send({"kind": "stage", "stage": "triton_cache", "ms": 0.0}, _tar(packed, files, folders))
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


def _tar(single: dict[str, bytes], shared: dict[str, bytes], folders: list[str]) -> bytes:
    """Return a tar that is the same for the same files; what is `shared` is in it once."""
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
