"""The options that a front end is not told, so that one front result serves all their values.

A front end that asks for one all the same is run again and told everything: this list makes
compilations faster, it never decides what they come to.
"""

from collections.abc import Mapping
from typing import Any

BACK_OPTIONS = frozenset(
    {
        "num_warps", "num_ctas", "num_stages", "maxnreg", "ptx_version", "min_shared_mem",
        "enable_reflect_ftz", "sched4reg", "clc", "launch_cooperative_grid", "launch_pdl",
        "waves_per_eu", "matrix_instr_nonkdim", "schedule_hint", "allow_flush_denorm",
    }
)  # fmt: skip
"""By name: what nothing but the back ends of Triton 3.6 to 3.9 and Gluon's language reads.

Not among them: `enable_fp_fusion` and `kpack`, about which reading options may give a warning."""


def told_and_untold(options: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the options that a front end is told, and the names of the others."""
    told = {name: value for name, value in options.items() if name not in BACK_OPTIONS}
    return told, sorted(options.keys() - told.keys())
