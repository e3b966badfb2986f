// Written by `make page-tables` from the table in compiler/stages.py: change that.

export interface Stage {
  name: string;
  title: string;
  syntax: string;
  derivedFrom: readonly string[];
}

/** The stages that have a text, in the order of the pipeline. */
export const STAGES: readonly Stage[] = [
  {"name": "source", "title": "Source IR", "syntax": "mlir", "derivedFrom": []},
  {"name": "ttir", "title": "TTIR", "syntax": "mlir", "derivedFrom": []},
  {"name": "ttgir", "title": "TTGIR", "syntax": "mlir", "derivedFrom": []},
  {"name": "llir", "title": "LLVM IR", "syntax": "llvm", "derivedFrom": []},
  {"name": "ptx", "title": "PTX", "syntax": "ptx", "derivedFrom": []},
  {"name": "sass", "title": "SASS", "syntax": "sass", "derivedFrom": ["cubin"]},
  {"name": "amdgcn", "title": "AMD assembly", "syntax": "amdgcn", "derivedFrom": []},
  {"name": "numpy", "title": "NumPy form", "syntax": "python", "derivedFrom": ["source", "ttir"]},
];
export const BY_NAME: ReadonlyMap<string, Stage> = new Map(
  STAGES.map((stage) => [stage.name, stage]),
);
