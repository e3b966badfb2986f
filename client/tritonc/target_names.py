"""The names of a target: `h100`, `sm_90` and `90` are `cuda:90`."""

import re

_GPUS = {
    "cuda:70": "v100", "cuda:75": "t4", "cuda:80": "a100 a30", "cuda:86": "a10 a10g a40 rtx3090",
    "cuda:87": "orin", "cuda:89": "l4 l40 l40s rtx4090", "cuda:90": "h100 h200 h20 gh200",
    "cuda:100": "b200 gb200", "cuda:103": "b300 gb300", "cuda:110": "thor", "cuda:120": "rtx5090",
    "cuda:121": "gb10", "hip:gfx906": "mi50 mi60", "hip:gfx908": "mi100",
    "hip:gfx90a": "mi210 mi250 mi250x", "hip:gfx942": "mi300a mi300x mi325x",
    "hip:gfx950": "mi350x mi355x", "hip:gfx1030": "rx6900xt", "hip:gfx1100": "rx7900xtx",
    "hip:gfx1201": "rx9070xt",
}  # fmt: skip
TARGET_OF_GPU = {gpu: name for name, gpus in _GPUS.items() for gpu in gpus.split()}
_CAPABILITY = re.compile(r"(?:(?:sm|compute)_?)?([0-9]{2,3})[af]?", re.ASCII)
_GFX = re.compile("gfx[0-9a-f]{3,5}")


def target_name(written: str) -> str:
    """Return the service's name of a target; what is not known is the service's to refuse."""
    plain = written.lower()
    if capability := _CAPABILITY.fullmatch(plain):
        return f"cuda:{capability[1]}"
    if _GFX.fullmatch(plain):
        return f"hip:{plain}"
    return TARGET_OF_GPU.get(re.sub("[ _-]", "", plain), written)
