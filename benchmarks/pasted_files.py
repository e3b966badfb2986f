"""Pastes whole files of public repositories into the page, and notes what it shows.

`python benchmarks/pasted_files.py FOLDER OUT.json --url http://127.0.0.1:8000/` pastes each file of
`FILES` below FOLDER, which has the repositories' Python files by name, into a browser that was
never used, and touches no field. Where the page names a missing module and the repository has
it, its file is added as the page asks, until nothing is missing; that is counted apart.
Playwright (`requirements/page.txt`) and Chromium are needed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

WAIT_MS = 180_000
MOST_ADDED = 12
"""Modules that are added for one kernel."""
SOURCE = ".left .editor .cm-content"
FILES = {
    "vllm/vllm": """
        v1/attention/ops/prefix_prefill v1/attention/ops/triton_decode_attention
        v1/attention/ops/triton_unified_attention v1/sample/rejection_sampler
        v1/attention/ops/triton_merge_attn_states v1/attention/ops/common
    """,
    "sglang/sglang/kernels/ops": """
        activation/softcap kvcache/triton_store_cache mamba/causal_conv1d_triton
        mamba/triton_ops/ssd_chunk_scan diffusion/quantization/fp8_rowwise_triton
        kvcache/mla_buffer
    """,
    "Liger-Kernel/src/liger_kernel/ops": "rms_norm swiglu cross_entropy rope layer_norm geglu",
    "flash-linear-attention/fla": """
        ops/attn/parallel ops/gla/chunk ops/common/chunk_h ops/rwkv7/fused_k_update
        modules/fused_cross_entropy ops/gated_delta_rule/fused_recurrent modules/layernorm
    """,
    "FlagGems/src/flag_gems": """
        ops/softmax ops/mm ops/layernorm ops/dropout utils/pointwise_dynamic
    """,
    "unsloth/unsloth/kernels": "rope_embedding fp8 cross_entropy_loss geglu rms_layernorm",
    "bitsandbytes/bitsandbytes/backends/triton": "kernels_4bit kernels_8bit_quant kernels_optim",
    "ao/torchao": """
        prototype/hqq/kernels prototype/blockwise_fp8_inference/kernels
        prototype/quantized_training/int8_mm prototype/mx_formats/kernels
    """,
    "mamba/mamba_ssm/ops/triton": "layer_norm ssd_chunk_state selective_state_update ssd_bmm",
    "xformers/xformers/ops/_triton": """
        k_index_select_cat rope_padded_kernels rmsnorm_kernels tiled_matmul_kernels
    """,
    "gemlite/gemlite": "triton_kernels/gemm_kernels bitpack",
    "tritonbench/tritonbench": """
        operators/gemm/persistent_matmul operators/gemm/triton_matmul
        operators/int4_gemm/kernel kernels/triton_fused_attention operators/softmax/operator
    """,
}


def main() -> None:
    """Paste all files, and write and print what was shown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:8000/")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of files")
    arguments = parser.parse_args()
    rows = []
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=False)
        for root, name in files(arguments.only):
            rows.append(pasted(browser, arguments.url, arguments.folder, root, name))
            arguments.out.write_text(json.dumps(rows, indent=1) + "\n")
            print(rows[-1]["file"], rows[-1]["state"], rows[-1]["added"], flush=True)
    print(summary(rows))


def files(only: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the folder in which a repository's imports begin, and a path below it."""
    for folder, names in FILES.items():
        root, package = re.fullmatch(r"(.*?)/((?:[^/]+/?)+)", folder).groups()  # type: ignore[union-attr]
        if package.startswith("src/"):
            root, package = f"{root}/src", package.removeprefix("src/")
        for name in names.split():
            if any(part in f"{root}/{package}/{name}" for part in only):
                yield root, f"{package}/{name}.py"


def pasted(browser: Browser, url: str, folder: Path, root: str, name: str) -> dict[str, Any]:
    """Paste a file into a new browser; return what the page shows."""
    text = (folder / root / name).read_text()
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    page.goto(url)
    page.locator("#state.succeeded").wait_for()
    started = time.monotonic()
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.locator(SOURCE).focus()
    page.keyboard.press("Control+a")
    page.evaluate("document.getElementById('state').className = 'waiting'")
    page.keyboard.press("Control+v")
    row = {"file": f"{root.removesuffix('/src')}/{name}", **shown(page)}
    row["seconds"] = round(time.monotonic() - started, 1)
    needed = row["needs"]
    row["added"], row["then"] = with_modules(page, folder / root, name) if needed else ([], row)
    row["last"] = [row["then"]["words"], *row["then"]["diagnostics"]]
    row["then"] = row["then"]["state"]
    context.close()
    return row


def shown(page: Page) -> dict[str, Any]:
    """Return the outcome that the page shows, once there is one."""
    state = page.locator("#state:is(.succeeded, .failed, .changed)")
    state.wait_for()
    if "changed" in (state.get_attribute("class") or ""):  # more is to come
        state = page.locator("#state:is(.succeeded, .failed)")
        state.wait_for()
    is_made = "succeeded" in (state.get_attribute("class") or "")
    ptx = page.get_by_role("region", name="PTX", exact=True)
    if is_made:
        expect(ptx).to_contain_text(".visible .entry", timeout=WAIT_MS)
    listed = page.get_by_role("list", name="Diagnostics").get_by_role("listitem")
    needs = page.locator(".diagnostics button").filter(has_text="Add ").all_inner_texts()
    return {
        "state": "succeeded" if is_made else "failed",
        "words": state.inner_text(),
        "needs": [text.removeprefix("Add ") for text in needs],
        "diagnostics": [text[:600] for text in listed.all_inner_texts()[:4]],
    }


def with_modules(page: Page, root: Path, name: str) -> tuple[list[str], dict[str, Any]]:
    """Add the modules that the page asks for, as far as the repository has them."""
    added: list[str] = []
    row = shown(page)
    while row["state"] == "failed" and len(added) < MOST_ADDED:
        places = {path: place_of(root, name, path) for path in row["needs"] if path not in added}
        path, place = next((each for each in places.items() if each[1]), ("", None))
        if place is None:
            break
        page.get_by_role("button", name=f"Add {path}", exact=True).click()
        if place.name == "__init__.py":  # a package
            page.get_by_label("Path", exact=True).fill(f"{path.removesuffix('.py')}/__init__.py")
            page.get_by_label("Path", exact=True).press("Tab")
        text = place.read_text() or "\n"
        page.evaluate("text => navigator.clipboard.writeText(text)", text)
        page.locator(".left .file .cm-content").focus()
        page.evaluate("document.getElementById('state').className = 'waiting'")
        page.keyboard.press("Control+v")
        added.append(path)
        row = shown(page)
    return added, row


def place_of(root: Path, name: str, path: str) -> Path | None:
    """Return the file of a module, or of a package; a relative import counts from a folder."""
    folders = [root, *((root / name).parents if "/" not in path else ())]
    both = (path, f"{path.removesuffix('.py')}/__init__.py")
    places = (folder / each for folder in folders for each in both)
    return next((place for place in places if place.is_file()), None)


def summary(rows: list[dict[str, Any]]) -> str:
    """Return a table by repository."""
    all_, at_once, then = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        name = row["file"].partition("/")[0]
        all_[name] += 1
        at_once[name] += row["state"] == "succeeded"
        then[name] += row["then"] == "succeeded"
    lines = [f"| {name} | {at_once[name]}/{all_[name]} | {then[name]} |" for name in all_]
    total = f"| all | {at_once.total()}/{all_.total()} | {then.total()} |"
    head = ["| repository | at once | with the files that the page names |", "|---|---|---|"]
    return "\n".join([*head, *lines, total])


if __name__ == "__main__":
    main()
