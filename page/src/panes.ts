// The panes: tabs in groups with splitters, which can be dragged, maximised and closed.

import { createDockview, type DockviewApi, type DockviewGroupPanel, type IContentRenderer, type IDockviewPanel, type SerializedDockview } from "dockview-core";
import { keep, kept } from "./browser_storage";
import { element, settled } from "./dom";
import type { Compiled } from "./compiled";
import type { Change } from "./found";
import { contentOf, isToRead, TITLES, type Content, type PaneContext, type Shown } from "./pane_kinds";
import { groupActions, tabOf, type PaneText } from "./pane_heads";
import { BY_NAME } from "./stages";
import { describeSplitters, listenForArrows } from "./splitters";

const LAYOUT = "tritond-layout";
/** A pane is no smaller, where it can be avoided. */
const LEAST_WIDTH = 420;
const LEAST_HEIGHT = 190;
/** A text that is lower next to forms is better read as a tab. */
const LEAST_READ = 300;
/** Panes that are read together are side by side, even if each is narrow. */
const BESIDE: Readonly<Record<string, string>> = { see: "run", run: "see" };
const LEAST_BESIDE = 300;
/** The first heights of panes that need less or more room than others. */
const HEIGHTS: Readonly<Record<string, number>> = { resources: 210, run: 380, see: 380 };
/** Panes with tables as wide as all panes together, and the share of their height. */
const WIDE: ReadonlySet<string> = new Set(["comparison", "matrix"]);
const SHARE = 0.55;
const BEFORE_ERROR = "Last good output";

/** The inside of one pane. */
class Pane implements IContentRenderer {
  readonly element = element("div", { className: "pane" });
  private readonly age = element("span", { className: "age" });
  private content: Content | null = null;
  /** Why it shows the last compilation that succeeded: a later one did not come so far; "" if it does not. */
  before = "";
  private compiled: Compiled | null = null;

  constructor(
    public kind: string,
    private readonly context: PaneContext,
    private readonly whenGone: (pane: Pane) => void,
  ) {}

  init(): void {
    this.fill();
  }

  /** Show something else in the same place. */
  become(kind: string): void {
    this.kind = kind;
    this.fill();
  }

  /** Show the compilation as far as it came to this pane, else the last one that succeeded. */
  show(shown: Shown, good: Compiled | null): void {
    const { compiled } = shown;
    const isOfGood = compiled !== null && good !== null && compiled !== good && !compiled.reached(this.kind);
    const isSame = good?.compilation.kernel === compiled?.compilation.kernel;
    this.before = !isOfGood ? "" : isSame ? BEFORE_ERROR : `${BEFORE_ERROR} (${good.compilation.kernel ?? "IR"})`;
    this.compiled = isOfGood ? good : compiled;
    this.content?.show({ ...shown, compiled: this.compiled });
  }

  /** Return its text: the whole artifact, or the words that it shows; null while there are none. */
  async asText(): Promise<PaneText | null> {
    const { compiled, kind } = this;
    const name = compiled?.compilation.kernel ?? "kernel";
    if (!BY_NAME.has(kind)) return this.content && { name: `${name}-${kind}.txt`, text: this.content.element.innerText };
    return compiled?.has(kind) ? { name: kind === "numpy" ? `${name}_numpy.py` : `${name}.${kind}`, text: await compiled.text(kind) } : null;
  }

  /** Dim what is of another text or request, and say why. */
  outdate(why: string): void {
    const said = !isToRead(this.kind) ? "" : this.before || why;
    this.element.classList.toggle("outdated", said !== "");
    this.age.textContent = said;
  }

  /** The text or a form has changed, on which what an acting pane found depends. */
  changed(what: Change): void {
    this.content?.outdate?.(what);
  }

  dispose(): void {
    this.content?.end();
    this.whenGone(this);
  }

  private fill(): void {
    this.content?.end();
    this.content = contentOf(this.kind, this.context);
    this.element.replaceChildren(this.age, this.content.element);
  }
}

export class Panes {
  readonly element = element("div", { className: "panes" });
  private readonly opened = new Map<string, Pane>();
  private made: DockviewApi | null = null;
  private shown: Shown = { compiled: null, kept: [] };
  /** The last compilation that succeeded. */
  private good: Compiled | null = null;
  private outdated = "";
  private isArranging = false;

  constructor(
    private readonly context: PaneContext,
    private readonly onChange: () => void,
  ) {}

  get kinds(): string[] {
    return this.made?.panels.flatMap(({ id }) => this.opened.get(id)?.kind ?? []) ?? [];
  }

  /** The library's panes, which are made when the first one is opened. */
  private get dock(): DockviewApi {
    return (this.made ??= this.make());
  }

  private make(): DockviewApi {
    const dock = createDockview(this.element, {
      className: "dock",
      theme: { name: "tritond", className: "dock-theme", gap: 5 },
      disableFloatingGroups: true,
      noPanelsOverlay: "watermark",
      createWatermarkComponent: () => ({ element: element("p", { className: "no-pane faint" }, "No pane is open. Choose one from “Add pane”."), init: () => {} }),
      createComponent: ({ id, name }) => this.created(id, name),
      defaultTabComponent: "title",
      createTabComponent: () => tabOf(),
      createRightHeaderActionComponent: (group) => groupActions(group, async (id) => (await this.opened.get(id)?.asText()) ?? null),
    });
    const keepLayout = settled(() => keep("localStorage", LAYOUT, JSON.stringify(dock.toJSON())), 500);
    listenForArrows(this.element);
    dock.onDidLayoutChange(() => {
      describeSplitters(this.element);
      if (!this.isArranging) keepLayout();
    });
    dock.onDidRemovePanel(() => {
      if (!this.isArranging) this.onChange();
    });
    dock.layout(this.element.clientWidth, this.element.clientHeight); // it follows the size, but later
    return dock;
  }

  /** Close all panes and open these, where they were before, if the same ones were open; others as tabs `behind` them. */
  reset(kinds: readonly string[], behind: readonly string[] = []): void {
    this.isArranging = true;
    try {
      this.dock.clear();
      const known = kinds.filter((kind) => TITLES.has(kind));
      const layout = layoutKept();
      if (layout && same(kindsIn(layout), known)) this.dock.fromJSON(layout);
      else {
        for (const kind of known) this.add(kind, { inactive: true }); // an active one takes the focus, and a phone scrolls to it
        if (this.dock.width >= LEAST_WIDTH) {
          this.size();
          this.leaveLines();
        }
      }
      for (const kind of behind.filter((each) => !known.includes(each))) this.addBehind(kind);
    } finally {
      this.isArranging = false;
    }
    this.show(this.shown);
  }

  /** True if lines of an earlier text are shown, since there are none of the present one. */
  get hasLinesBefore(): boolean {
    return [...this.opened.values()].some(({ kind, before }) => before && BY_NAME.has(kind));
  }

  /** Open a pane on request. */
  open(kind: string): void {
    if (!TITLES.has(kind)) return;
    this.add(kind).api.setActive();
    this.onChange();
  }

  /** Open a pane of this kind if there is none. */
  ensure(kind: string): void {
    if (!this.kinds.includes(kind)) this.open(kind);
  }

  /** Bring a pane of this kind to the front; open one if there is none. */
  reveal(kind: string): void {
    const panel = this.dock.panels.find(({ id }) => this.opened.get(id)?.kind === kind);
    if (panel) panel.api.setActive();
    else this.open(kind);
  }

  show(shown: Shown): void {
    const { compiled } = this.shown = shown;
    if (!compiled || compiled.compilation.state === "succeeded") this.good = compiled;
    const hasOwn = ["ptx", "amdgcn"].some((kind) => compiled?.reached(kind));
    this.showAssembly(hasOwn ? compiled : (this.good ?? compiled));
    for (const pane of this.opened.values()) pane.show(shown, this.good);
    this.outdate("");
  }

  /** Dim what shows a compilation of something else than what stands in the editor and forms, and say why. */
  outdate(why: string): void {
    this.outdated = this.shown.compiled ? why : "";
    for (const pane of this.opened.values()) pane.outdate(this.outdated);
  }

  /** Dim what acting panes found of another text or launch than what stands here now. */
  changed(what: Change): void {
    for (const pane of this.opened.values()) pane.changed(what);
  }

  private created(id: string, kind: string): Pane {
    const pane = new Pane(kind, this.context, () => this.opened.delete(id));
    this.opened.set(id, pane);
    queueMicrotask(() => {
      pane.show(this.shown, this.good);
      pane.outdate(this.outdated);
    });
    return pane;
  }

  /** Add a pane as a tab that is not shown, which leaves the others as they are. */
  private addBehind(kind: string): void {
    const group = this.dock.groups.at(-1);
    if (group) this.dock.addPanel({ ...this.optionsOf(kind), inactive: true, position: { referenceGroup: group, direction: "within" } });
    else this.add(kind, { inactive: true });
  }

  /** Add a pane next to or below the others; as a tab, where it would be too small. */
  private add(kind: string, how: { inactive?: boolean } = {}): IDockviewPanel {
    const { dock } = this;
    const size = HEIGHTS[kind] ? { initialHeight: HEIGHTS[kind] } : {};
    const options = { ...this.optionsOf(kind), ...size, ...how };
    const isNarrow = dock.width < LEAST_WIDTH;
    const [columns, rows] = [Math.max(1, Math.floor(dock.width / LEAST_WIDTH)), Math.max(1, Math.floor(dock.height / LEAST_HEIGHT))];
    const count = dock.groups.length;
    if (!count) return dock.addPanel(options);
    const wide = dock.panels.find(({ id: other }) => WIDE.has(this.opened.get(other)?.kind ?? ""));
    if (WIDE.has(kind) && wide) return dock.addPanel({ ...options, position: { referenceGroup: wide.group, direction: "within" } });
    if (WIDE.has(kind) && !isNarrow) {
      const added = dock.addPanel({ ...options, initialHeight: dock.height * SHARE, position: { direction: "below" } });
      this.gather(added);
      return added;
    }
    const beside = dock.panels.find(({ id: other }) => this.opened.get(other)?.kind === BESIDE[kind]);
    if (beside && dock.width > 2 * LEAST_BESIDE) return dock.addPanel({ ...options, position: { referenceGroup: beside.group, direction: "right" } });
    if (count < columns * rows) {
      const isRow = count % columns === 0;
      const last = dock.groups.at(-1)!;
      return dock.addPanel({ ...options, position: isRow ? { direction: "below" } : { referenceGroup: last, direction: "right" } });
    }
    return dock.addPanel({ ...options, position: { referenceGroup: dock.activeGroup ?? dock.groups.at(-1)!, direction: "within" } });
  }

  private optionsOf(kind: string): { id: string; component: string; title: string; minimumHeight: number; minimumWidth: number } {
    const id = `${kind}-${Math.random().toString(36).slice(2, 8)}`;
    return { id, component: kind, title: TITLES.get(kind)!, minimumHeight: 90, minimumWidth: 160 };
  }

  /** Make tabs of the panes above a wide one that it leaves too little height. */
  private gather(wide: IDockviewPanel): void {
    const { dock } = this;
    const above = (): DockviewGroupPanel[] => dock.groups.filter((group) => group !== wide.group);
    const [first, ...others] = above().filter((group) => group.api.height < LEAST_HEIGHT);
    if (!others.length) return;
    for (const panel of others.flatMap((group) => [...group.panels])) panel.api.moveTo({ group: first!, skipSetActive: true });
    const rows = new Set(above().map(({ element }) => Math.round(element.getBoundingClientRect().top))).size;
    wide.group.api.setSize({ height: dock.height * SHARE });
    for (const group of above()) group.api.setSize({ height: (dock.height * (1 - SHARE)) / rows });
  }

  /** Give panes their first heights, which those that were opened after them have changed. */
  private size(): void {
    for (const { id, group } of this.dock.panels) {
      const height = HEIGHTS[this.opened.get(id)?.kind ?? ""];
      if (height && group.activePanel?.id === id) group.api.setSize({ height });
    }
  }

  /** Make tabs of the panes that are read, if those that act leave each of them only a few lines. */
  private leaveLines(): void {
    const kinds = ({ panels }: DockviewGroupPanel): string[] => panels.map(({ id }) => this.opened.get(id)?.kind ?? "");
    const read = this.dock.groups.filter((group) => kinds(group).every((kind) => isToRead(kind) && !WIDE.has(kind)));
    const height = read.reduce((sum, { api }) => sum + api.height, 0) / read.length;
    const [first, ...others] = read;
    if (!others.length || read.length === this.dock.groups.length || height >= LEAST_READ) return;
    for (const panel of others.flatMap((group) => [...group.panels])) panel.api.moveTo({ group: first!, skipSetActive: true });
    this.size();
  }

  /** The pane with a GPU's assembly shows that of the target: AMD's instead of PTX, and back. */
  private showAssembly(compiled: Compiled | null): void {
    if (!compiled) return;
    const [other, own] = compiled.compilation.target.startsWith("hip") ? ["ptx", "amdgcn"] : ["amdgcn", "ptx"];
    const found = [...this.opened].find(([, { kind }]) => kind === other);
    if (!found || this.kinds.includes(own!)) return;
    found[1].become(own!);
    this.dock.getPanel(found[0])?.api.setTitle(TITLES.get(own!)!);
  }
}

function layoutKept(): SerializedDockview | null {
  try {
    return JSON.parse(kept("localStorage", LAYOUT) ?? "null") as SerializedDockview | null;
  } catch {
    return null; // written by something else
  }
}

function kindsIn({ panels }: SerializedDockview): string[] {
  return Object.values(panels ?? {}).map(({ contentComponent }) => contentComponent ?? "");
}

function same(some: readonly string[], others: readonly string[]): boolean {
  return JSON.stringify([...some].sort()) === JSON.stringify([...others].sort());
}
