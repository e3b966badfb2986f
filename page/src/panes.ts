// The panes: any number; each shows what its menu selects of the current compilation.

import { button, element, menu } from "./dom";
import type { Compiled } from "./compiled";
import type { Filters } from "./filters";
import type { Selection } from "./line_links";
import { comparison } from "./comparison_pane";
import { matrix } from "./matrix_pane";
import { passes } from "./passes_pane";
import { resources } from "./resources_pane";
import { run, type RunContext } from "./run_pane";
import { see, type SeeContext } from "./see_pane";
import { STAGES } from "./stages";
import { text } from "./text_pane";

export const KINDS: readonly (readonly [string, string])[] = [
  ...STAGES.map(({ name, title }) => [name, title] as const),
  ["passes", "Passes"],
  ["resources", "Resources"],
  ["comparison", "Comparison"],
  ["matrix", "Matrix"],
  ["run", "Run"],
  ["see", "See"],
];
export const TITLES: ReadonlyMap<string, string> = new Map(KINDS);

/** The current compilation and forms. */
export interface Shown {
  compiled: Compiled | null;
  kept: Compiled | null;
}

/** The content of a pane: it receives compilations, and ends with its pane. */
export interface Content {
  element: HTMLElement;
  show(shown: Shown): void;
  end(): void;
}

export interface PaneContext extends RunContext, SeeContext {
  selection: Selection;
  filters: Filters;
}

/** Panes that send their own requests, which depend on the forms. */
const ACTING: Readonly<Record<string, (context: PaneContext) => Content>> = { matrix, run, see };

/** True if panes of this kind only show the compilation. */
export function isToRead(kind: string): boolean {
  return TITLES.has(kind) && !(kind in ACTING);
}

/** Return the content of a pane that only shows the compilation. */
export function reading(kind: string, title: string, selection: Selection, filters: Filters): Content {
  switch (kind) {
    case "passes":
      return passes();
    case "resources":
      return resources();
    case "comparison":
      return comparison();
    default:
      return text(kind, title, selection, filters);
  }
}

export class Panes {
  readonly element = element("div", { className: "panes" });
  private readonly opened: { kind: string; section: HTMLElement; content: Content }[] = [];
  private shown: Shown = { compiled: null, kept: null };
  private outdated = "";

  constructor(
    private readonly context: PaneContext,
    private readonly onChange: () => void,
  ) {}

  get kinds(): string[] {
    return this.opened.map(({ kind }) => kind);
  }

  /** Close all panes and open these. */
  reset(kinds: readonly string[]): void {
    for (const pane of this.opened.splice(0)) this.remove(pane);
    for (const kind of kinds) this.add(kind);
  }

  private add(kind: string): void {
    if (!TITLES.has(kind)) return;
    const section = element("section", { className: "pane" });
    const pane = { kind, section, content: this.filled(section, kind) };
    this.opened.push(pane);
    this.element.append(section);
  }

  /** Open a pane on request, and scroll to it. */
  open(kind: string): void {
    this.add(kind);
    this.opened.at(-1)?.section.scrollIntoView({ block: "nearest" });
    this.onChange();
  }

  /** Open a pane of this kind if there is none, without scrolling. */
  ensure(kind: string): void {
    if (this.kinds.includes(kind)) return;
    this.add(kind);
    this.element.scrollTop = this.element.scrollHeight;
    this.onChange();
  }

  show(shown: Shown): void {
    this.shown = shown;
    this.outdate("");
    this.showAssembly(shown.compiled);
    for (const { content } of this.opened) content.show(shown);
  }

  /** The pane with a GPU's assembly shows that of the target: AMD's instead of PTX, and back. */
  private showAssembly(compiled: Compiled | null): void {
    if (!compiled) return;
    const [other, own] = compiled.compilation.target.startsWith("hip") ? ["ptx", "amdgcn"] : ["amdgcn", "ptx"];
    const pane = this.opened.find(({ kind }) => kind === other);
    if (pane && !this.kinds.includes(own!)) this.replace(pane, own!);
  }

  /** Dim what shows a compilation of something else than what stands in the editor and forms, and say why. */
  outdate(why: string): void {
    this.outdated = this.shown.compiled ? why : "";
    for (const pane of this.opened) this.age(pane);
  }

  private age({ kind, section }: { kind: string; section: HTMLElement }): void {
    const old = isToRead(kind) && this.outdated !== "";
    section.classList.toggle("outdated", old);
    const said = section.querySelector<HTMLElement>(".age");
    if (said) said.textContent = old ? this.outdated : "";
  }

  private filled(section: HTMLElement, kind: string): Content {
    const title = TITLES.get(kind)!;
    const content = this.content(kind, title);
    const kinds = menu(KINDS, kind, { "aria-label": "What this pane shows" });
    kinds.addEventListener("change", () => this.change(section, kinds.value));
    const close = button("×", () => this.close(section), { "aria-label": `Close ${title}`, className: "close" });
    section.setAttribute("aria-label", title);
    section.replaceChildren(element("header", {}, kinds, element("span", { className: "age" }), close), content.element);
    content.show(this.shown);
    this.age({ kind, section });
    return content;
  }

  private content(kind: string, title: string): Content {
    const act = ACTING[kind];
    return act ? act(this.context) : reading(kind, title, this.context.selection, this.context.filters);
  }

  private change(section: HTMLElement, kind: string): void {
    const pane = this.opened.find((each) => each.section === section);
    if (!pane) return;
    this.replace(pane, kind);
    section.querySelector("select")?.focus();
    this.onChange();
  }

  private replace(pane: { kind: string; section: HTMLElement; content: Content }, kind: string): void {
    pane.content.end();
    pane.kind = kind;
    pane.content = this.filled(pane.section, kind);
  }

  private close(section: HTMLElement): void {
    const index = this.opened.findIndex((each) => each.section === section);
    const [pane] = this.opened.splice(index, 1);
    if (pane) this.remove(pane);
    this.onChange();
  }

  private remove(pane: { section: HTMLElement; content: Content }): void {
    pane.content.end();
    pane.section.remove();
  }
}
