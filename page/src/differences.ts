// The service's comparison of two compilations: see docs/reference/diff.md.

import { made } from "./api";
import type { Compiled } from "./compiled";

/** A value of each compilation. */
export interface Both<T = unknown> {
  a: T;
  b: T;
}

export interface StageDifference {
  stage: string;
  same: boolean;
  added: number;
  removed: number;
  registers_differ: boolean;
  diff: string | null;
  truncated: boolean;
}

interface Mix {
  total: number;
  by_class: Record<string, number>;
}

export interface Differences {
  same: boolean;
  resources: Record<string, Both>;
  options: Record<string, Both>;
  toolchain: Record<string, Both>;
  instructions: { a: Mix | null; b: Mix | null; delta: (Mix & { by_opcode: Record<string, number> }) | null; by_line: LineDelta[] } | null;
  stages: StageDifference[];
}

export interface LineDelta {
  file: string | null;
  a_line: number | null;
  b_line: number | null;
  delta: Mix;
}

const known = new WeakMap<Compiled, WeakMap<Compiled, Promise<Differences>>>();

/** Return the differences from `a` to `b`. Raises ProblemAnswered. */
export function differencesOf(a: Compiled, b: Compiled): Promise<Differences> {
  const ofA = known.get(a) ?? new WeakMap<Compiled, Promise<Differences>>();
  known.set(a, ofA);
  let found = ofA.get(b);
  if (!found) {
    found = made(`${a.compilation.url}/diff/${b.compilation.key}`).then((answer) => answer.json() as Promise<Differences>);
    ofA.set(b, found);
    found.catch(() => ofA.delete(b));
  }
  return found;
}
