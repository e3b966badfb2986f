// The page of the explorer: creates its parts and connects them.

import { isPassing, ProblemAnswered } from "./api";
import { compiledLines } from "./code_view";
import { compile, outcomeOf, type Compiled } from "./compiled";
import { listed, showInEditor } from "./diagnostics";
import { button, element, idle, settled } from "./dom";
import { beginText, keepDraft, type Draft } from "./drafts";
import { EXAMPLES, type Example } from "./examples";
import { errorsIn } from "./field_errors";
import { FileTabs, neededFiles } from "./file_tabs";
import { Filters } from "./filters";
import type { Change } from "./found";
import { modulesNextTo, textAt, type GithubFile } from "./github";
import { Header } from "./header";
import { guessesIn, launchOf } from "./launch";
import { Selection } from "./line_links";
import { beginRun, outdateNotes, runLines, showNotes } from "./line_notes";
import { LiveCompiler, StatusLine } from "./live";
import { keptIn, leaveLink, stateAsked, type LaunchText, type PageState, type RequestText } from "./page_state";
import { Panes } from "./panes";
import { inspectionOf, toolchainsOffered, withConfigs } from "./inspection";
import { bodyOf, type RequestBody } from "./request";
import { ProofBadge } from "./proof_badge";
import type { Proof } from "./proof";
import { RequestForm } from "./request_form";
import type { SeeContext } from "./see_pane";
import { shareDialog } from "./share_dialog";
import { inspectedLines, SourceEditor } from "./source_editor";
import { wordsOf } from "./text_pane";
import type { Inspection, Kernel, Toolchain } from "./wire";

/** The most compilations that are kept for comparison. */
const MOST_KEPT = 6;
/** A line that only Python has, and no IR. */
const PYTHON = /^(?:import |from |def |@triton)/m;

export class ExplorerPage {
  private compiled: Compiled | null = null;
  /** The last compilation of Python that succeeded. */
  private python: Compiled | null = null;
  private kept: Compiled[] = [];
  /** True once the forms have the deployment's targets. */
  private isOffered = false;
  /** The number of states that are being opened: changes meanwhile are no edits. */
  private opening = 0;
  private readonly followers = new Set<() => void>();
  /** The launches and contracts of kernels that stood here, by all that an inspection says of them. */
  private readonly launches = new Map<string, Pick<PageState, "launch" | "contract">>();
  private readonly drawers = new Set<SeeContext["draw"]>();
  private readonly selection = new Selection();
  private readonly filters = new Filters();
  private readonly live = new LiveCompiler(() => void this.compile());
  private readonly status = new StatusLine(() => this.cancel());
  private readonly badge = new ProofBadge();
  private readonly said = element("ul", { className: "diagnostics", "aria-label": "Diagnostics" });
  /** The way back from what replaced somebody's work. */
  private readonly notice = element("p", { className: "notice", role: "status", hidden: true });
  private readonly keepButton = button("Keep for comparison", () => this.keepCompiled(), { disabled: true });
  private inspected = "";
  /** The file that the text was opened from, null for any other text. */
  private opened: GithubFile | null = null;
  /** True from a change of a further file until the source is inspected with it. */
  private hasOtherFiles = false;
  /** True from a paste over everything until its kernel is shown, or the text is edited. */
  private isPasted = false;
  /** True if something was changed that no draft has yet. */
  private isEdited = false;
  private readonly files: FileTabs;
  private readonly form: RequestForm;
  private readonly editor: SourceEditor;
  private readonly panes: Panes;
  private readonly header: Header;
  private readonly inspect = settled(() => void this.inspectNow(), 200);
  private readonly draft = settled(() => this.keepDraft(), 300);

  constructor(private state: PageState) {
    const editorBox = element("div", { className: "editor" });
    this.editor = new SourceEditor(editorBox, {
      text: state.request.source,
      language: state.request.language,
      selection: this.selection,
      version: () => this.state.request.triton,
      onChange: (text, replaced) => this.sourceChanged(text, replaced),
      onReopen: (state) => void this.open(state, { writes: false }).then(() => this.edited()),
      onSubmit: () => void this.compile(),
    });
    this.files = new FileTabs(
      editorBox,
      (files) => this.filesChanged(files),
      (files) => this.fileRemoved(files),
    );
    this.files.open(state.request.files ?? {});
    this.form = new RequestForm(
      this.state.request,
      (byUser) => this.formChanged(byUser),
      (was, now) => this.launchOther(was, now),
      (kernel) => this.reveal(kernel),
      (line) => this.editor.goTo(line, inspectedLines),
    );
    this.panes = new Panes(
      {
        selection: this.selection,
        filters: this.filters,
        launch: () => this.launch,
        body: () => this.body(),
        keep: () => this.launchChanged(),
        forget: (index) => this.keepAll(this.kept.filter((_, each) => each !== index)),
        compileFor: (target) => this.form.compileFor(target),
        apply: (changes) => {
          this.form.write(changes);
          void this.compile();
        },
        goTo: (line) => this.editor.goTo(line, runLines),
        kernelLine: () => this.form.kernel?.line ?? 1,
        beginRun: () => beginRun(this.editor.view),
        note: (notes, heat) => showNotes(this.editor.view, notes, heat),
        isDrawn: () => this.drawers.size > 0,
        ran: (verdict) => {
          if (verdict === null) void this.compile(); // to show its errors
        },
        refuse: (errors) => this.form.refuse(errors),
        draw: (body, trace) => {
          for (const draw of this.drawers) draw(body, trace);
        },
        drawing: (draw) => {
          this.drawers.add(draw);
          return () => this.drawers.delete(draw);
        },
        contract: () => this.state.contract ?? "",
        keepContract: (text) => {
          this.state.contract = text || null;
          this.badge.clear();
          this.edited();
        },
        goToCompiled: (line) => this.editor.goTo(line, compiledLines),
        prove: () => this.proveNow(),
        fill: (launch) => this.fill(launch),
        text: () => this.editor.text,
        write: (text) => this.editor.replace(text),
        guesses: () => this.guesses,
        follow: (act) => {
          this.followers.add(act);
          return () => this.followers.delete(act);
        },
      },
      () => this.edited(),
    );
    const share = shareDialog(() => this.shared(), () => this.body());
    this.header = new Header(
      {
        compile: () => void this.compile(),
        openExample: (example) => this.openExample(example),
        openDraft: (draft) => void this.openDraft(draft),
        openFile: (file, text) => this.openFile(file, text),
        addPane: (kind) => this.panes.reveal(kind),
        share: share.open,
        keyChanged: () => void this.offer(toolchainsOffered()).then(() => this.compile()),
      },
      { live: this.live.element, filters: this.filters.element, keep: this.keepButton },
    );
    const left = element("div", { className: "left" }, this.files.element, editorBox, this.files.panel, this.form.chips.element, this.status.element, this.badge.element, this.notice, this.said, this.form.element);
    const right = element("div", { className: "right" }, this.form.assumptions.element, this.panes.element);
    document.body.replaceChildren(this.header.element, element("main", {}, left, right), share.element);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.defaultPrevented) void this.compile();
    });
    window.addEventListener("pagehide", () => this.keepDraft());
    window.addEventListener("hashchange", () => void stateAsked().then(([state, notLed]) => this.open(state, { notLed })));
  }

  /** Show the state that the page was made with, from answers to requests that are under way. */
  async begin(toolchains: Promise<Toolchain[]>, inspection: Promise<Inspection> | undefined, notLed: unknown): Promise<void> {
    if (location.hash) beginText();
    void this.offer(toolchains);
    if (notLed) this.notify(wordsOf(notLed), null);
    await this.fillIn(inspection);
  }

  /** Show another state, and why it is not the one that was asked for. `writes`: its text, too, in one step to undo. */
  private async open(state: PageState, { writes = true, notLed = null as unknown, behind = [] as readonly string[] } = {}): Promise<void> {
    const before = this.shared();
    this.beginText();
    this.live.stop();
    this.state = structuredClone(state);
    [this.compiled, this.kept, this.inspected, this.notice.hidden] = [null, [], "", true];
    if (notLed) this.notify(wordsOf(notLed), null);
    this.badge.clear();
    this.opening += 1;
    try {
      this.panes.reset([]); // remove buttons of the previous state
      this.panes.show({ compiled: null, kept: [] });
      this.editor.speak(state.request.language);
      if (writes) this.editor.write(before, state);
      beginRun(this.editor.view);
      this.form.open(this.state.request);
      this.files.open(this.state.request.files ?? {});
    } finally {
      this.opening -= 1;
    }
    await this.fillIn(undefined, behind);
  }

  /** Fill the forms and panes of the state, with others `behind` them, and compile it. */
  private async fillIn(inspection?: Promise<Inspection>, behind: readonly string[] = []): Promise<void> {
    const { state } = this;
    let compiling: Promise<void>;
    this.opening += 1;
    try {
      await this.inspectNow(inspection);
      const idling = idle(); // editor and forms are shown, and take input, before the panes are made
      compiling = this.compile(idling); // the service compiles meanwhile
      await idling;
      if (state !== this.state) return; // another one was opened meanwhile
      // now the launch form knows the kernel; the user may have opened panes before
      this.panes.reset([...new Set([...state.panes, ...this.panes.kinds])], behind);
      const kept = await Promise.all(keptIn(state).map((each) => this.compiledOf(each).catch(() => null)));
      this.kept = kept.filter((each) => each !== null);
      if (this.kept.length) this.panes.show({ compiled: this.compiled, kept: this.kept });
    } finally {
      this.opening -= 1;
    }
    await compiling;
  }

  private openExample({ request, launch }: Example): void {
    const { target, triton } = this.state.request;
    this.replace({ ...this.shared(), request: { ...request, target, triton }, launch, contract: null }, ["run", "see"]);
  }

  /** Show the text of a file, as if it were pasted over everything. */
  private openFile(file: GithubFile, text: string): void {
    this.beginText();
    this.state.request.language = "python";
    this.editor.speak("python");
    this.files.open({});
    this.filesChanged({});
    this.editor.replace(text);
    [this.isPasted, this.opened] = [true, file];
    void this.compile();
  }

  /** Add a module that the kernel needs: with its text, if the source was opened from a repository that has it. */
  private async addFile(path: string): Promise<void> {
    for (const [imported, raw] of this.opened ? modulesNextTo(this.opened, path) : []) {
      const text = await textAt(raw).catch(() => null); // then it may be a package, or in a folder around
      if (text !== null) return this.files.put(imported, text || "\n");
    }
    this.files.add(path);
  }

  private openDraft({ state }: Draft): void {
    this.replace(state);
  }

  /** Open a state instead of what stands here, and offer the way back. */
  private replace(state: PageState, behind: readonly string[] = []): void {
    const name = this.form.kernel?.name ?? "what was here before";
    leaveLink();
    void this.open(state, { behind }).then(() => {
      this.edited();
      this.notify(`Opened. Ctrl+Z restores ${name}, with its forms.`, [`Back to ${name}`, () => this.editor.undo()]);
    });
  }

  private notify(text: string, act: [string, () => void] | null): void {
    this.notice.replaceChildren(text, ...(act ? [" ", button(act[0], act[1], { className: "small" })] : []));
    this.notice.hidden = false;
  }

  private sourceChanged(text: string, replaced: "" | "pasted" | "otherwise"): void {
    if (text === this.state.request.source) return;
    if (replaced) this.beginText();
    this.state.request.source = text;
    [this.isPasted, this.opened] = [replaced === "pasted", null];
    this.inspect();
    this.edited();
    this.outdate("Source");
  }

  private filesChanged(files: Record<string, string>): void {
    this.state.request.files = files;
    [this.inspected, this.hasOtherFiles] = ["", true];
    this.inspect();
    this.edited();
    this.outdate("Source");
  }

  /** The draft before keeps the file, and undo brings it back. */
  private fileRemoved(files: Record<string, string>): void {
    const before = structuredClone(this.shared());
    this.beginText();
    this.filesChanged(files);
    this.editor.record(before, this.shared());
    this.editor.view.focus();
  }

  private formChanged(byUser: boolean): void {
    this.editor.speak(this.state.request.language);
    for (const act of this.followers) act();
    this.edited();
    if (byUser) this.outdate("Forms");
  }

  /** Grid, arguments, reference and contract are those of a kernel, and never carried to another. */
  private launchOther(was: Kernel, now: Kernel | null): void {
    const { launch, contract } = this.state;
    this.launches.set(JSON.stringify(was), { launch, contract });
    const own = now && this.launches.get(JSON.stringify(now));
    [this.state.launch, this.state.contract] = [own?.launch ?? null, own?.contract ?? null];
    this.panes.changed("Kernel");
    showNotes(this.editor.view, []);
  }

  /** Scroll the editor to a kernel; the cursor stays. */
  private reveal({ line }: Kernel): void {
    this.editor.reveal(line, inspectedLines);
  }

  private launchChanged(): void {
    this.edited();
    this.panes.changed("Launch");
    outdateNotes(this.editor.view);
  }

  /** Something was changed that a draft keeps, and that no link leads to. */
  private edited(): void {
    if (this.opening) return;
    leaveLink();
    this.isEdited = true;
    this.draft();
  }

  /** Another text replaces the one that is here, whose draft stays. */
  private beginText(): void {
    this.keepDraft();
    beginText();
  }

  private keepDraft(): void {
    const { isEdited } = this;
    this.isEdited = false;
    if (isEdited && this.state.request.source.trim()) keepDraft(this.form.kernel?.name ?? this.state.request.language, this.shared());
  }

  /** The results on the page are of another text or request: say so, and compile. */
  private outdate(what: Change): void {
    if (this.opening) return;
    const why = `${what} changed.`;
    this.panes.outdate(why);
    this.panes.changed(what);
    if (what !== "Source") outdateNotes(this.editor.view);
    this.badge.clear();
    if (this.live.isOn || !this.status.isWaiting) this.status.say(this.live.isOn ? why : `${why} Ctrl+Enter compiles.`, "changed");
    this.live.changed();
  }

  private cancel(): void {
    this.live.stop();
    this.status.say("Cancelled.", "cancelled");
  }

  private get launch(): LaunchText {
    this.state.launch = launchOf(this.form.kernel, this.state.request.signature, this.state.launch);
    return this.state.launch;
  }

  private get guesses(): string[] {
    const { source, signature } = this.state.request;
    return EXAMPLES.some((each) => each.request.source === source) ? [] : guessesIn(this.form.kernel, signature, this.launch);
  }

  private body(): RequestBody {
    return bodyOf(this.state.request, this.form.functions);
  }

  private shared(): PageState {
    return { ...this.state, panes: this.panes.kinds };
  }

  private async offer(toolchains: Promise<Toolchain[]>): Promise<void> {
    try {
      const offered = await toolchains;
      this.form.offer(offered);
      this.isOffered = offered.length > 0; // a deployment that starts has none yet
    } catch (error) {
      this.refused(error);
    }
  }

  private async inspectNow(asked = inspectionOf(this.state.request)): Promise<void> {
    const { source } = this.state.request;
    if (!asked) return;
    try {
      this.editor.view.dispatch({ effects: inspectedLines.begin.of(null) });
      const inspection = await withConfigs(await asked, this.state.request);
      if (source !== this.state.request.source) return;
      this.inspected = source;
      const { state } = this.editor.view;
      this.form.follow(inspection, (line) => inspectedLines.now(state, line), this.hasOtherFiles);
      this.hasOtherFiles = false;
      this.editor.view.dispatch({ effects: inspectedLines.use.of(null) });
      const { first = null, last = null } = this.opened ?? {};
      if (this.isPasted && first) this.form.chooseAt(first, last ?? first);
      if (this.isPasted && this.form.kernel) this.reveal(this.form.kernel);
      this.isPasted = false;
    } catch {
      // compiling the same shows the errors
    }
  }

  private compiledOf(request: RequestText, signal = new AbortController().signal): Promise<Compiled> {
    const body = bodyOf(request, this.form.functions);
    return compile(request, body, (progress) => this.status.wait(progress), signal, this.form.assumedBy(request));
  }

  /** Compile, and show the result once `ready`. */
  private async compile(ready?: Promise<void>): Promise<void> {
    if (this.inspected !== this.state.request.source) await this.inspectNow();
    if (!this.state.request.source.trim()) return this.sayEmpty();
    const signal = this.live.begin(JSON.stringify(this.body()));
    if (!signal) return; // the same is under way
    this.status.wait();
    this.editor.begin();
    try {
      const compiled = await this.compiledOf(this.state.request, signal);
      await ready;
      signal.throwIfAborted();
      // the selection refers to lines of the old text
      if (compiled.request.source !== this.compiled?.request.source) this.selection.select([], this);
      this.compiled = compiled;
      document.title = `${compiled.compilation.kernel ?? "kernel"} · tritond`;
      this.show(compiled);
      if (!this.isOffered) void this.offer(toolchainsOffered()); // the service was away when the page asked
    } catch (error) {
      if (signal.aborted) return; // a newer request replaced this one, or the user
      this.refused(error);
    } finally {
      this.live.ended(signal);
    }
  }

  private sayEmpty(): void {
    this.live.stop();
    this.panes.outdate("The editor is empty.");
    this.said.replaceChildren();
    this.status.say("The editor is empty. Paste a Triton kernel or choose an example.", "changed");
  }

  /** Show why there is no result: nothing of an earlier one may look current. */
  private refused(error: unknown): void {
    const problem = error instanceof ProblemAnswered ? error.problem : null;
    const unplaced = this.form.refuse(problem?.errors ?? []);
    const isOfFields = Boolean(problem?.errors?.length) && !unplaced.length;
    this.panes.outdate("Not compiled.");
    this.keepButton.disabled = true;
    this.editor.linked.link(null, new Map());
    showInEditor(this.editor.view, []);
    const again = isPassing(error) ? " Retrying …" : "";
    this.status.say(isOfFields ? "Not compiled: fix the red field below." : `${wordsOf(error)}${again}`, "failed");
    this.said.replaceChildren(...(problem?.errors?.length ? listed(this.editor.view, [], { ...problem, errors: unplaced }) : []));
    if (problem?.slug === "unauthorized") this.header.askForKey();
    else if (isPassing(error)) this.live.again();
  }

  private show(compiled: Compiled): void {
    const { compilation } = compiled;
    const { text, state } = outcomeOf(compiled);
    const age = this.ageOf(compiled);
    this.status.say(age ? `${text}. ${age} Ctrl+Enter compiles.` : text, age ? "changed" : state);
    this.keepButton.disabled = false;
    const unplaced = this.form.refuse(errorsIn(compilation.diagnostics));
    const placed = new Set(errorsIn(compilation.diagnostics).filter((each) => !unplaced.includes(each)).map(({ pointer }) => pointer));
    const said = compilation.diagnostics.filter((each) => !errorsIn([each]).some(({ pointer }) => placed.has(pointer)));
    if (compiled.request.source === this.editor.text) showInEditor(this.editor.view, compilation.diagnostics);
    const notIr = this.notIr(compiled);
    this.said.replaceChildren(...notIr, ...(notIr.length ? [] : [...this.needs(compiled), ...listed(this.editor.view, said, placed.size ? null : compilation.problem)]));
    this.panes.show({ compiled, kept: this.kept });
    this.panes.outdate(age);
    if (!age) void this.prove().catch(() => undefined); // the pane says why there is none
    void this.linkSource(compiled);
  }

  /** Offer the IR of the last kernel, if the text is Python and was compiled as IR. */
  private notIr(compiled: Compiled): HTMLElement[] {
    const { language, source } = compiled.request;
    if (language === "python") {
      if (compiled.compilation.state === "succeeded") this.python = compiled;
      return [];
    }
    if (!PYTHON.test(source)) return [];
    const { python } = this;
    const name = language.toUpperCase();
    const replace = python?.has(language) ? button(`Replace it with the ${name} of ${python.compilation.kernel}`, () => void python.text(language).then((text) => this.editor.replace(text)), { className: "small" }) : null;
    return [element("li", { className: "error" }, `The text is Python, not ${name}. `, replace)];
  }

  /** Offer the files that the kernel needs, or was compiled without. */
  private needs({ compilation }: Compiled): HTMLElement[] {
    const [className, words] = compilation.state === "succeeded" ? ["warning", "Compiled without"] : ["error", "This kernel needs"];
    return neededFiles(compilation).map((path) =>
      element("li", { className }, `${words} ${path}. `, button(`Add ${path}`, () => void this.addFile(path), { className: "small" })),
    );
  }

  /** Say what was changed since a compilation was asked for, "" for nothing. */
  private ageOf({ request, body }: Compiled): string {
    if (request.source !== this.editor.text) return "Source changed.";
    return JSON.stringify(body) === JSON.stringify(this.body()) ? "" : "Forms changed.";
  }

  private async linkSource(compiled: Compiled): Promise<void> {
    this.editor.linked.link(null, new Map());
    // lines of the text before are not those of this one
    if (compiled.request.language !== "python" || this.panes.hasLinesBefore) return;
    try {
      const [table, hues] = await Promise.all([compiled.sourceTable(), compiled.hues()]);
      if (this.compiled === compiled) this.editor.linked.link(table, hues);
    } catch (error) {
      this.status.title = `No lines: ${wordsOf(error)}`;
    }
  }

  /** Prove what stands here; compile it first, if something else is compiled. */
  private async proveNow(): Promise<Proof | null> {
    if (!this.compiled || this.ageOf(this.compiled)) await this.compile();
    return this.prove();
  }

  /** Prove what is compiled and stands here, and show the badge of a full proof. */
  private async prove(): Promise<Proof | null> {
    const { compiled } = this;
    const { contract } = this.state;
    this.badge.clear();
    if (!contract || compiled?.compilation.state !== "succeeded" || this.ageOf(compiled)) return null;
    const found = await compiled.proof(contract);
    const isCurrent = compiled === this.compiled && contract === this.state.contract && !this.ageOf(compiled);
    if (isCurrent) this.badge.show(found);
    return found;
  }

  private fill(launch: LaunchText): void {
    this.state.launch = launch;
    this.panes.reveal("run");
    for (const act of this.followers) act();
    this.launchChanged();
  }

  private keepCompiled(): void {
    const { compiled, kept } = this;
    if (!compiled) return;
    const isKept = kept.some(({ compilation }) => compilation.key === compiled.compilation.key);
    if (kept.length >= MOST_KEPT && !isKept) return this.status.say(`${MOST_KEPT} compilations are kept. Forget one first.`, "succeeded");
    this.panes.ensure("comparison");
    this.keepAll(isKept ? kept : [...kept, compiled]);
    this.status.say("Kept. Change something to compare.", "succeeded");
  }

  private keepAll(kept: Compiled[]): void {
    this.kept = kept;
    const [first = null, ...others] = kept.map(({ request }) => structuredClone(request));
    [this.state.kept, this.state.also_kept] = [first, others];
    this.panes.show({ compiled: this.compiled, kept });
    if (this.compiled) this.panes.outdate(this.ageOf(this.compiled));
    this.edited();
  }
}
