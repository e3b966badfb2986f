// The kinds of panes: each shows a part of the current compilation, or acts on the forms.

import type { Compiled } from "./compiled";
import { comparison } from "./comparison_pane";
import { explain } from "./explain_pane";
import type { Filters } from "./filters";
import type { Change } from "./found";
import type { Selection } from "./line_links";
import { matrix } from "./matrix_pane";
import { passes } from "./passes_pane";
import { proof, type ProofContext } from "./proof_pane";
import { resources } from "./resources_pane";
import { run } from "./run_pane";
import { see, type SeeContext } from "./see_pane";
import { STAGES } from "./stages";
import { text } from "./text_pane";
import type { TrialContext } from "./trials";

export const KINDS: readonly (readonly [string, string])[] = [
  ...STAGES.map(({ name, title }) => [name, title] as const),
  ["passes", "Passes"],
  ["resources", "Resources"],
  ["explain", "Explain"],
  ["comparison", "Comparison"],
  ["matrix", "Matrix"],
  ["proof", "Proof"],
  ["run", "Run"],
  ["see", "See"],
];
export const TITLES: ReadonlyMap<string, string> = new Map(KINDS);

/** The current compilation and forms. */
export interface Shown {
  compiled: Compiled | null;
  /** Those kept for comparison, in their order. */
  kept: readonly Compiled[];
}

/** The content of a pane: it receives compilations, and ends with its pane. */
export interface Content {
  element: HTMLElement;
  show(shown: Shown): void;
  /** Say that the text, forms or launch are others than those of an acting pane's results. */
  outdate?(what: Change): void;
  end(): void;
}

export interface PaneContext extends ProofContext, SeeContext, TrialContext {
  selection: Selection;
  filters: Filters;
  /** Keep a compilation for comparison no longer. */
  forget(index: number): void;
  /** Compile for another target. */
  compileFor(target: string): void;
}

/** Acts of panes that show a compilation, where it can be changed. */
type ReadingActs = TrialContext & Pick<PaneContext, "forget" | "compileFor">;

/** Panes that send their own requests, which depend on the forms. */
const ACTING: Readonly<Record<string, (context: PaneContext) => Content>> = { matrix, proof, run, see };

/** True if panes of this kind only show the compilation. */
export function isToRead(kind: string): boolean {
  return TITLES.has(kind) && !(kind in ACTING);
}

/** Return the content of a pane. */
export function contentOf(kind: string, context: PaneContext): Content {
  const act = ACTING[kind];
  return act ? act(context) : reading(kind, TITLES.get(kind)!, context.selection, context.filters, context);
}

/** Return the content of a pane that only shows the compilation. */
export function reading(kind: string, title: string, selection: Selection, filters: Filters, acts: ReadingActs | null = null): Content {
  switch (kind) {
    case "passes":
      return passes(selection);
    case "resources":
      return resources();
    case "explain":
      return explain(selection, acts);
    case "comparison":
      return comparison(acts && ((index) => acts.forget(index)));
    default:
      return text(kind, title, selection, filters, acts && ((target) => acts.compileFor(target)));
  }
}
