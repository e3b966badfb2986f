"""Write the page's copies of the tables of stages and targets: `make page-tables`."""

import json
from pathlib import Path

from compiler.stages import STAGES
from compiler.target import ARCHITECTURES, GPUS, STANDARD_TARGET

_SOURCES = Path(__file__).parent / "src"


def stages_ts() -> str:
    """Return the text of `src/stages.ts`."""
    rows = [
        {
            "name": stage.name,
            "title": stage.title,
            "syntax": stage.syntax,
            "derivedFrom": list(stage.derived_from),
        }
        for stage in STAGES
        if not stage.is_binary
    ]
    body = "".join(f"  {json.dumps(row)},\n" for row in rows)
    return f"""// Written by `make page-tables` from the table in compiler/stages.py: change that.

export interface Stage {{
  name: string;
  title: string;
  syntax: string;
  derivedFrom: readonly string[];
}}

/** The stages that have a text, in the order of the pipeline. */
export const STAGES: readonly Stage[] = [
{body}];
export const BY_NAME: ReadonlyMap<string, Stage> = new Map(
  STAGES.map((stage) => [stage.name, stage]),
);
"""


def targets_ts() -> str:
    """Return the text of `src/targets.ts`."""
    common = json.dumps([row.name for row in ARCHITECTURES if row.is_common])
    known = [[name, ", ".join(gpus.upper().split()[:2])] for name, gpus in GPUS.items()]
    products = "".join(f"  {json.dumps(each)},\n" for each in known)
    return f"""// Written by `make page-tables` from the table in compiler/target.py: change that.

export const STANDARD_TARGET = {json.dumps(STANDARD_TARGET)};
/** The targets that a matrix begins with. */
export const COMMON_TARGETS: readonly string[] = {common};
/** Names that people know some targets by. */
export const PRODUCTS: ReadonlyMap<string, string> = new Map([
{products}]);
"""


FILES = {_SOURCES / "stages.ts": stages_ts, _SOURCES / "targets.ts": targets_ts}


if __name__ == "__main__":
    for file, text in FILES.items():
        file.write_text(text())
