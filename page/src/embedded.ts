// The read-only view of a stored state: its source and panes, in a window or a frame.

import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { address, post } from "./api";
import { assumedIn, sentenceOf } from "./assumed";
import { commonExtensions, LinkedLines, readOnly } from "./code_view";
import { compile, outcomeOf, type Compiled, type Progress } from "./compiled";
import { element } from "./dom";
import { chosenOf } from "./kernel_values";
import { mark } from "./mark";
import { Filters } from "./filters";
import { languageOf } from "./languages";
import { Selection } from "./line_links";
import { keptIn, stateOf, type PageState, type RequestText } from "./page_state";
import { isToRead, reading, TITLES, type Content } from "./pane_kinds";
import { ProofBadge } from "./proof_badge";
import { bodyOf } from "./request";
import { wordsOf } from "./text_pane";
import type { Inspection, Kernel } from "./wire";

/** The digest in the URL, null if this is not the page of a frame. */
export const EMBEDDED = /\/e\/(sha256:[0-9a-f]{64})$/.exec(decodeURIComponent(location.pathname))?.[1] ?? null;
/** The name of the editor among the panes that a URL selects. */
export const KERNEL = "kernel";

export class EmbeddedPage {
  private readonly selection = new Selection();
  private readonly filters = new Filters();
  private readonly status = element("p", { id: "state", role: "status" }, "Loading …");
  private readonly badge = new ProofBadge();
  private readonly panes = element("main", { className: "panes" });
  private readonly contents: Content[] = [];

  constructor(private readonly digest: string) {
    const { theme } = parameters();
    if (theme) document.documentElement.dataset.theme = theme;
    const open = element("a", { href: address(`#${digest}`).href, target: "_blank", rel: "noopener" }, "Open in tritond");
    document.body.classList.add("embedded");
    document.body.replaceChildren(element("header", {}, element("h1", {}, mark(), "tritond"), this.status, this.badge.element, open), this.panes);
  }

  /** Show the state, compile it, and prove it if it has a contract; viewing runs nothing else. */
  async start(): Promise<void> {
    try {
      const state = await stateOf(this.digest);
      const source = this.open(state);
      const kept = state.panes.includes("comparison") ? await Promise.all(keptIn(state).map((each) => compiledOf(each, () => {}))) : [];
      const compiled = await compiledOf(state.request, ({ stage }) => this.say(stage ? `Compiling: ${stage} …` : "Compiling …", "running"));
      const { text, state: how } = outcomeOf(compiled);
      this.say(text, how);
      for (const content of this.contents) content.show({ compiled, kept });
      await source?.(compiled);
      if (state.contract && compiled.compilation.state === "succeeded") this.badge.show(await compiled.proof(state.contract));
    } catch (error) {
      this.say(wordsOf(error), "failed");
    }
  }

  private open({ request, panes }: PageState): ((compiled: Compiled) => Promise<void>) | null {
    const chosen = parameters().panes ?? [KERNEL, ...panes];
    const isShown = (kind: string): boolean => kind === KERNEL || isToRead(kind);
    let link: ((compiled: Compiled) => Promise<void>) | null = null;
    for (const kind of new Set(chosen.filter(isShown))) {
      const title = kind === KERNEL ? "Kernel" : TITLES.get(kind)!;
      const section = element("section", { className: "pane", "aria-label": title }, element("header", {}, element("h2", {}, title)));
      if (kind === KERNEL) {
        const code = element("div", { className: "code" });
        section.append(element("div", { className: "body" }, code));
        link = kernelView(code, request, this.selection);
      } else {
        const content = reading(kind, title, this.selection, this.filters);
        this.contents.push(content);
        section.append(content.element);
      }
      this.panes.append(section);
    }
    return link;
  }

  private say(text: string, state: string): void {
    [this.status.textContent, this.status.className] = [text, state];
  }
}

/** Show the source; return the links of its lines. */
function kernelView(parent: HTMLElement, request: RequestText, selection: Selection): (compiled: Compiled) => Promise<void> {
  const linked = new LinkedLines(selection);
  const extensions = [commonExtensions("Kernel"), readOnly(), languageOf(request.language), linked.extension];
  linked.attach(new EditorView({ parent, state: EditorState.create({ doc: request.source, extensions }) }));
  return async (compiled) => {
    if (request.language === "python") linked.link(await compiled.sourceTable(), await compiled.hues());
  };
}

async function compiledOf(request: RequestText, tell: (progress: Progress) => void): Promise<Compiled> {
  const kernels = request.language === "python" ? await kernelsOf(request.source) : [];
  const names = kernels.map(({ name }) => name);
  const assumed = sentenceOf(assumedIn(chosenOf(kernels, request.kernel), request, new Set()));
  return compile(request, bodyOf(request, names), tell, new AbortController().signal, assumed);
}

/** The jit functions, whose names are valid as constexprs; if they are unknown, compiling reports the reason. */
async function kernelsOf(source: string): Promise<Kernel[]> {
  const inspection = (await (await post("v1/inspect", { source })).json()) as Inspection;
  return inspection.kernels;
}

/** The settings in the frame's URL: `?panes=kernel,ptx&theme=dark`. */
function parameters(): { panes: string[] | null; theme: string | null } {
  const given = new URLSearchParams(location.search);
  const theme = given.get("theme");
  return { panes: given.get("panes")?.split(",") ?? null, theme: theme === "light" || theme === "dark" ? theme : null };
}
