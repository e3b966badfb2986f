// The numbers of a compilation, as texts to show and compare.

import type { Compilation } from "./wire";

interface Occupancy {
  ratio: number;
  limited_by: string;
}

/** Return a kernel's use of GPU resources, by name. */
export function numbersOf(compilation: Compilation): Map<string, string> {
  const { occupancy, ...rest } = compilation.resources ?? {};
  const numbers = new Map<string, string>();
  for (const [name, value] of Object.entries(rest)) {
    if (value !== null && value !== undefined) numbers.set(name.replaceAll("_", " "), String(value));
  }
  const held = occupancy as Occupancy | null | undefined;
  if (held) numbers.set("occupancy", `${percent(held.ratio)} (${held.limited_by})`);
  return numbers;
}

/** Return a share as text: `50 %`, `12.5 %`. */
export function percent(ratio: number): string {
  return `${Number((ratio * 100).toFixed(1))} %`;
}
