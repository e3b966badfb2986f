// What panes leave out of an artifact, so that the kernel's own instructions are seen first.

import { keep, kept } from "./browser_storage";
import { element } from "./dom";
import type { LineTable } from "./line_links";
import { BY_NAME } from "./stages";

export const FILTERS = ["locations", "directives", "comments", "unused labels"] as const;
export type Filter = (typeof FILTERS)[number];

/** A text without what was left out, and the original number of each of its lines. */
export interface Filtered {
  text: string;
  lines: number[];
}

/** A filter: it removes whole lines, and parts of lines. */
type Rules = Partial<Record<Filter, { lines?: RegExp; parts?: RegExp }>>;

const MLIR: Rules = {
  locations: { lines: /^#loc\d* = /, parts: / ?loc\((?:#loc\d*|"[^"]*"(?::\d+:\d+|\(#loc\d*\))?|unknown|callsite\([^()]*(?:\([^()]*\)[^()]*)*\))\)/g },
  comments: { lines: /^\s*\/\//, parts: /\s+\/\/ .*$/ },
};
const RULES: Readonly<Record<string, Rules>> = {
  mlir: MLIR,
  llvm: {
    locations: { lines: /^!(?:\d+|llvm\.dbg\.cu|llvm\.module\.flags) = |^\s*#dbg_/, parts: /, !dbg !\d+/g },
    directives: { lines: /^(?:source_filename|target (?:datalayout|triple)|attributes #\d+) / },
    comments: { lines: /^\s*;/, parts: /\s+; .*$/ },
  },
  ptx: {
    locations: { lines: /^\s*\.loc\b/ },
    directives: { lines: /^\s*\.(?:version|target|address_size|file|section)\b/ },
    comments: { lines: /^\s*\/\/|^\s*\/\*.*\*\/\s*$|^\s*$/, parts: /\s*\/\/.*$/ },
    "unused labels": { lines: /^\$L__(?:tmp|func_begin|func_end)\d+:\s*$/ },
  },
  sass: {
    locations: { lines: /^\s*\/\/## / },
    directives: { lines: /^\s*\.(?!L_|text)\w/ },
    comments: { lines: /^\s*\/\/(?!## )|^\s*$/, parts: /\s*\/\/(?!## ).*$/ },
  },
  amdgcn: {
    locations: { lines: /^\s*\.loc\b/ },
    directives: { lines: /^\s+\.(?!loc\b)\w|^\s*-? *\.\w+: |^amdhsa\.|^\.\.\.|^---|^ {2}- / },
    comments: { lines: /^\s*;(?!;#ASM)|^\s*$/, parts: /\s+; .*$/ },
    "unused labels": { lines: /^\.L(?:tmp|func_begin|func_end|debug_\w+|info_\w+|section_\w+|abbrev_\w+|line_table_\w+)\d*:\s*$/ },
  },
};
/** The first line of debug information in PTX, which ends at a brace. */
const DEBUG_SECTION = /^\s*\.section\s+\.debug_/;
const ENTRY = "tritond-unfiltered";

/** Return an artifact of a stage without what the chosen filters leave out. */
export function filtered(stage: string, text: string, chosen: ReadonlySet<Filter>): Filtered {
  const all = text.split("\n");
  const rules = Object.entries(RULES[BY_NAME.get(stage)?.syntax ?? ""] ?? {}).filter(([name]) => chosen.has(name as Filter)).map(([, rule]) => rule);
  const kept: Filtered & { shown: string[] } = { text: "", lines: [], shown: [] };
  let isDebug = false;
  all.forEach((line, index) => {
    if (chosen.has("directives") && DEBUG_SECTION.test(line)) isDebug = true;
    const isData = isDebug;
    if (line === "\t}") isDebug = false;
    if (isData || rules.some(({ lines }) => lines?.test(line))) return;
    const shown = rules.reduce((rest, { parts }) => (parts ? rest.replace(parts, "") : rest), line);
    if (!shown.trim() && !kept.shown.at(-1)?.trim() && rules.length) return; // one empty line is enough
    kept.shown.push(shown);
    kept.lines.push(index + 1);
  });
  return { text: kept.shown.join("\n"), lines: kept.lines };
}

/** Return a table of an artifact for what is left of it. */
export function tableOfLeft({ lines, places }: LineTable, left: readonly number[]): LineTable {
  const shown = new Map(left.map((line, index) => [line, index + 1]));
  return {
    lines: new Map([...lines].map(([place, numbers]) => [place, numbers.flatMap((line) => shown.get(line) ?? [])])),
    places: new Map([...places].flatMap(([line, its]) => (shown.has(line) ? [[shown.get(line)!, its] as const] : []))),
  };
}

/** The filters of all panes: each can be switched off, and stays so in this browser. */
export class Filters {
  private readonly off = new Set((kept("localStorage", ENTRY) ?? "").split(",").filter(Boolean));
  private readonly followers = new Set<() => void>();
  readonly element = element("details", { className: "menu" }, element("summary", {}, "Filters"), element("div", {}, ...FILTERS.map((name) => this.box(name))));

  get chosen(): ReadonlySet<Filter> {
    return new Set(FILTERS.filter((name) => !this.off.has(name)));
  }

  /** Call `act` after each change; return a function that stops it. */
  follow(act: () => void): () => void {
    this.followers.add(act);
    return () => this.followers.delete(act);
  }

  private box(name: Filter): HTMLElement {
    const box = element("input", { type: "checkbox", checked: !this.off.has(name) });
    box.addEventListener("change", () => {
      if (box.checked) this.off.delete(name);
      else this.off.add(name);
      keep("localStorage", ENTRY, [...this.off].join(",") || null);
      for (const act of this.followers) act();
    });
    return element("label", { className: "switch" }, box, `Hide ${name}`);
  }
}
