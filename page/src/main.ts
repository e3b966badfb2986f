// The page: creates its parts and connects them.

import { apiKey, ask, keepApiKey, post } from "./api";
import { compile, outcomeOf, type Compiled } from "./compiled";
import { listed, showInEditor } from "./diagnostics";
import { button, element, menu, settled } from "./dom";
import { EMBEDDED, EmbeddedPage } from "./embedded";
import { EXAMPLES, type Example } from "./examples";
import { launchOf } from "./launch";
import { IS_LEARNING, LessonPanel } from "./lesson_panel";
import { Selection } from "./line_links";
import { showNotes } from "./line_notes";
import { initialState, keepDraft, openState, type LaunchText, type PageState, type RequestText } from "./page_state";
import { KINDS, Panes } from "./panes";
import { bodyOf, type RequestBody } from "./request";
import { RequestForm } from "./request_form";
import type { SeeContext } from "./see_pane";
import { shareDialog } from "./share_dialog";
import { SourceEditor } from "./source_editor";
import { wordsOf } from "./text_pane";
import { themeMenu } from "./theme";
import { ProblemAnswered } from "./api";
import type { Inspection, Toolchain } from "./wire";

class Page {
  private state: PageState = initialState();
  private compiled: Compiled | null = null;
  private kept: Compiled | null = null;
  private running: AbortController | null = null;
  private readonly followers = new Set<() => void>();
  private readonly drawers = new Set<SeeContext["draw"]>();
  private readonly selection = new Selection();
  private readonly status = element("p", { id: "state", role: "status" }, "Nothing compiled yet.");
  private readonly said = element("ul", { className: "diagnostics", "aria-label": "Diagnostics" });
  private readonly keepButton = button("Keep for comparison", () => this.keepCompiled(), { disabled: true });
  private inspected = "";
  private readonly lessons = IS_LEARNING ? new LessonPanel((request, launch) => this.openLesson(request, launch)) : null;
  private readonly form: RequestForm;
  private readonly editor: SourceEditor;
  private readonly panes: Panes;
  private readonly inspect = settled(() => void this.inspectNow(), 400);
  private readonly draft = settled(() => keepDraft(this.shared()), 300);

  constructor() {
    const editorBox = element("div", { className: "editor" });
    this.editor = new SourceEditor(editorBox, {
      text: "",
      language: "python",
      selection: this.selection,
      version: () => this.state.request.triton,
      onChange: (text) => this.sourceChanged(text),
      onSubmit: () => void this.compile(),
    });
    this.form = new RequestForm(this.state.request, () => this.formChanged());
    this.panes = new Panes(
      {
        selection: this.selection,
        launch: () => this.launch,
        body: () => this.body(),
        keep: () => this.draft(),
        goTo: (line) => this.goTo(line),
        kernelLine: () => this.form.kernel?.line ?? 1,
        note: (notes, heat) => showNotes(this.editor.view, notes, heat),
        isDrawn: () => this.drawers.size > 0,
        ran: (verdict) => this.ran(verdict),
        draw: (body, trace) => {
          for (const draw of this.drawers) draw(body, trace);
        },
        drawing: (draw) => {
          this.drawers.add(draw);
          return () => this.drawers.delete(draw);
        },
        follow: (act) => {
          this.followers.add(act);
          return () => this.followers.delete(act);
        },
      },
      () => this.draft(),
    );
    const share = shareDialog(() => this.shared(), () => this.body());
    const left = element("div", { className: "left" }, this.lessons?.element, editorBox, this.status, this.said, this.form.element);
    document.body.replaceChildren(this.header(share.open), element("main", {}, left, this.panes.element), share.element);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.defaultPrevented) void this.compile();
    });
    window.addEventListener("hashchange", () => void this.start());
  }

  /** Show the requested state and compile it. */
  async start(): Promise<void> {
    void this.loadTargets();
    if (this.lessons && location.hash.length < 2) return this.lessons.start();
    try {
      await this.open(await openState());
    } catch (error) {
      await this.open(initialState(), false);
      this.say(wordsOf(error), "failed");
    }
  }

  private async open(state: PageState, compiles = true): Promise<void> {
    this.state = state;
    [this.compiled, this.kept, this.inspected] = [null, null, ""];
    this.panes.reset([]); // remove buttons of the previous state
    this.editor.speak(state.request.language);
    this.editor.write(state.request.source);
    showNotes(this.editor.view, []);
    this.form.open(state.request);
    await this.inspectNow();
    this.panes.reset(state.panes); // after the launch form knows the kernel
    if (!compiles) return;
    if (state.kept) {
      this.kept = await this.compiledOf(state.kept).catch(() => null);
    }
    await this.compile();
  }

  private header(openShare: () => void): HTMLElement {
    const examples = menu([["", "Examples"], ...EXAMPLES.map(({ title }) => [title, title] as const)], "", { "aria-label": "Examples" });
    examples.addEventListener("change", () => {
      const chosen = EXAMPLES.find(({ title }) => title === examples.value);
      examples.value = "";
      if (chosen) this.openExample(structuredClone(chosen));
    });
    const add = menu([["", "Add a pane"], ...KINDS], "", { "aria-label": "Add a pane" });
    add.addEventListener("change", () => {
      this.panes.open(add.value);
      add.value = "";
    });
    const key = element("input", { type: "password", autocomplete: "off", placeholder: "none", value: apiKey(), id: "api-key" });
    key.addEventListener("change", () => {
      keepApiKey(key.value.trim());
      void this.loadTargets().then(() => this.inspectNow());
    });
    return element(
      "header",
      {},
      element("h1", {}, "tritond"),
      button("Compile", () => void this.compile(), { className: "primary", title: "Ctrl+Enter" }),
      examples,
      add,
      this.keepButton,
      button("Share", openShare),
      element("span", { className: "space" }),
      element("label", { className: "inline", htmlFor: key.id }, "API key"),
      key,
      themeMenu(),
      element("nav", { "aria-label": "More" }, ...links()),
    );
  }

  private openExample({ request, launch }: Example): void {
    const panes = launch && !this.panes.kinds.includes("run") ? ["run", ...this.panes.kinds] : this.panes.kinds;
    void this.open({ ...this.state, request, launch: launch ?? null, panes });
  }

  private openLesson(request: RequestText, launch: LaunchText): void {
    this.say("Write the kernel, then run it.", "");
    this.said.replaceChildren();
    void this.open({ version: 1, request, launch, kept: null, panes: ["run", "see"] }, false);
  }

  /** Handle the end of a run; compile a kernel without a verdict, to show its errors. */
  private ran(verdict: string | null): void {
    if (verdict === null) void this.compile();
    this.lessons?.ran(verdict, this.launch.reference);
  }

  private sourceChanged(text: string): void {
    if (text === this.state.request.source) return;
    this.state.request.source = text;
    this.lessons?.wrote(text);
    this.inspect();
    this.draft();
  }

  private formChanged(): void {
    this.editor.speak(this.state.request.language);
    for (const act of this.followers) act();
    this.draft();
  }

  private get launch(): LaunchText {
    this.state.launch = launchOf(this.form.kernel, this.state.request.signature, this.state.launch);
    return this.state.launch;
  }

  private body(): RequestBody {
    return bodyOf(this.state.request, this.form.functions);
  }

  private shared(): PageState {
    return { ...this.state, panes: this.panes.kinds };
  }

  private async loadTargets(): Promise<void> {
    try {
      const { toolchains } = (await (await ask("v1/targets")).json()) as { toolchains: Toolchain[] };
      this.form.offer(toolchains);
    } catch (error) {
      this.say(wordsOf(error), "failed");
    }
  }

  private async inspectNow(): Promise<void> {
    const { source, language } = this.state.request;
    if (language !== "python" || !source.trim()) return;
    try {
      const inspection = (await (await post("v1/inspect", { source })).json()) as Inspection;
      if (source !== this.state.request.source) return;
      this.inspected = source;
      this.form.follow(inspection);
    } catch {
      // compiling the same shows the errors
    }
  }

  private compiledOf(request: RequestText): Promise<Compiled> {
    this.running?.abort();
    const running = (this.running = new AbortController());
    return compile(request, bodyOf(request, this.form.functions), (text) => this.say(text, "running"), running.signal);
  }

  private async compile(): Promise<void> {
    this.say("Compiling …", "running");
    try {
      // keep the request that is being compiled, even if the forms change meanwhile
      if (this.inspected !== this.state.request.source) await this.inspectNow();
      const compiled = await this.compiledOf(this.state.request);
      // the selection refers to lines of the old text
      if (compiled.request.source !== this.compiled?.request.source) this.selection.select([], this);
      this.compiled = compiled;
      this.show(compiled);
    } catch (error) {
      if (error instanceof DOMException) return; // a newer request replaced this one
      this.say(wordsOf(error), "failed");
      const problem = error instanceof ProblemAnswered ? error.problem : null;
      this.said.replaceChildren(...listed(this.editor.view, [], problem));
    }
  }

  private show(compiled: Compiled): void {
    const { compilation } = compiled;
    const { text, state } = outcomeOf(compiled);
    this.say(text, state);
    this.keepButton.disabled = false;
    if (compiled.request.source === this.editor.text) showInEditor(this.editor.view, compilation.diagnostics);
    this.said.replaceChildren(...listed(this.editor.view, compilation.diagnostics, compilation.problem));
    this.panes.show({ compiled, kept: this.kept });
    void this.linkSource(compiled);
  }

  private async linkSource(compiled: Compiled): Promise<void> {
    this.editor.linked.link(null, new Map());
    if (compiled.request.language !== "python") return;
    try {
      const [table, hues] = await Promise.all([compiled.sourceTable(), compiled.hues()]);
      if (this.compiled === compiled && compiled.request.source === this.editor.text) this.editor.linked.link(table, hues);
    } catch (error) {
      this.status.title = `No lines: ${wordsOf(error)}`;
    }
  }

  private keepCompiled(): void {
    if (!this.compiled) return;
    this.kept = this.compiled;
    this.state.kept = structuredClone(this.compiled.request);
    this.panes.ensure("comparison");
    this.panes.show({ compiled: this.compiled, kept: this.kept });
    this.say("Kept. Change something and compile again.", "succeeded");
    this.draft();
  }

  private goTo(number: number): void {
    const { view } = this.editor;
    const line = view.state.doc.line(Math.min(Math.max(number, 1), view.state.doc.lines));
    view.dispatch({ selection: { anchor: line.from }, userEvent: "select", scrollIntoView: true });
    view.focus();
  }

  private say(text: string, state: string): void {
    this.status.textContent = text;
    this.status.className = state;
    this.status.title = "";
  }
}

function links(): HTMLElement[] {
  const named = { ...(IS_LEARNING ? { Explorer: "." } : { Learn: "learn" }), API: "docs", System: "v1/system" };
  return Object.entries(named).map(([name, href]) => element("a", { href }, name));
}

void (EMBEDDED ? new EmbeddedPage(EMBEDDED) : new Page()).start();
