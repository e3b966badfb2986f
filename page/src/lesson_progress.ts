// What this browser keeps of the lessons: written kernels, and which ones are solved.

import { keep, kept } from "./browser_storage";
import type { Lesson } from "./lesson";

const ENTRY = "tritond-lessons";

interface Kept {
  solved: string[];
  /** Written kernels, by lesson. */
  sources: Record<string, string>;
  /** The lesson that was open last. */
  last: string;
}

/** Return what is kept; it is read anew each time, since another tab may have changed it. */
export function progress(): Kept {
  const none: Kept = { solved: [], sources: {}, last: "" };
  try {
    const found = { ...none, ...(JSON.parse(kept("localStorage", ENTRY) ?? "{}") as Partial<Kept>) };
    return Array.isArray(found.solved) && typeof found.sources === "object" && found.sources ? found : none;
  } catch {
    return none; // written by something else
  }
}

export function keepLast({ kernel }: Lesson): void {
  keep("localStorage", ENTRY, JSON.stringify({ ...progress(), last: kernel }));
}

/** Keep what was written for a lesson; null forgets it. */
export function keepSource({ kernel }: Lesson, source: string | null): void {
  const { sources, ...others } = progress();
  const { [kernel]: _, ...rest } = sources;
  keep("localStorage", ENTRY, JSON.stringify({ ...others, sources: source === null ? rest : { ...rest, [kernel]: source } }));
}

export function keepSolved({ kernel }: Lesson): void {
  const { solved, ...others } = progress();
  keep("localStorage", ENTRY, JSON.stringify({ ...others, solved: [...new Set([...solved, kernel])] }));
}
