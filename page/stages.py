"""Write `src/stages.ts`, the page's copy of the table of stages: `make page-stages`."""

import json
from pathlib import Path

from compiler.stages import STAGES

FILE = Path(__file__).parent / "src/stages.ts"


def stages_ts() -> str:
    """Return the text of the file."""
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
    return f"""// Written by `make page-stages` from the table in compiler/stages.py: change that.

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


if __name__ == "__main__":
    FILE.write_text(stages_ts())
