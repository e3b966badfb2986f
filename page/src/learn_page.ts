// The page of lessons: the text on the left, the code in the middle, the picture on the right.

import { isPassing, ProblemAnswered } from "./api";
import { listed, showInEditor } from "./diagnostics";
import { button, element, field } from "./dom";
import { Found } from "./found";
import { KeyField } from "./key_field";
import { isUncompiled, judge, type Judgement } from "./lesson_judge";
import { keepLast, keepSolved, keepSource, progress } from "./lesson_progress";
import { lessonText } from "./lesson_text";
import { launchOf, requestOf, startOf, type Lesson } from "./lesson";
import { CHAPTERS, LESSONS } from "./lessons";
import { Selection } from "./line_links";
import { beginRun, runLines, showNotes, type LineNote } from "./line_notes";
import { mark } from "./mark";
import { openState, store, type PageState } from "./page_state";
import { bodyOf } from "./request";
import { notesOf } from "./run_notes";
import { shareDialog } from "./share_dialog";
import { SourceEditor } from "./source_editor";
import { StepView } from "./step_view";
import { wordsOf } from "./text_pane";
import { themeMenu } from "./theme";

const IDLE = "Write the kernel, then run it.";
const UNDRAWN = "Here you will see the reads and writes of your kernel, step by step.";

export class LearnPage {
  private lesson = LESSONS[0]!;
  /** True while somebody else's kernel is shown: nothing of it is kept. */
  private isVisiting = false;
  private runs = 0;
  private editor!: SourceEditor;
  private readonly editorBox = element("div", { className: "editor" });
  private readonly text = element("article", { className: "lesson", tabIndex: 0, "aria-label": "The lesson" });
  private readonly lessons = element("select");
  private readonly count = element("span", { className: "faint" });
  private readonly runButton = button("Run", () => void this.run(), { className: "primary run", title: "Ctrl+Enter" });
  private readonly state = element("p", { id: "state", role: "status" }, IDLE);
  private readonly visit = element("p", { className: "notice", hidden: true }, "This is a shared kernel. Yours is as you left it. ", button("Back to mine", () => this.choose(this.lesson), { className: "small" }));
  private readonly solved = element("div", { className: "solved", hidden: true });
  private readonly said = element("ul", { className: "diagnostics", "aria-label": "Diagnostics" });
  private readonly picture = element("section", { className: "picture scrolls", tabIndex: 0, "aria-label": "The run, drawn" });
  private readonly steps = new StepView((line) => this.editor.goTo(line, runLines), this.picture);
  private readonly drawn = new Found(this.steps.element);
  private readonly key = new KeyField(() => void this.run());

  constructor() {
    const share = shareDialog(() => this.shared(), () => bodyOf(requestOf(this.lesson, this.editor.text)));
    this.lessons.addEventListener("change", () => this.choose(LESSONS.find(({ kernel }) => kernel === this.lessons.value)!));
    const header = element(
      "header",
      {},
      element("h1", {}, mark(), "tritond"),
      field("Lesson", this.lessons, "beside"),
      this.count,
      button("Share", share.open),
      element("span", { className: "space" }),
      this.key.element,
      themeMenu(),
      element("nav", { "aria-label": "More" }, ...Object.entries({ Explorer: ".", API: "docs" }).map(([name, href]) => element("a", { href }, name))),
    );
    const bar = element("div", { className: "run-bar" }, this.runButton, element("div", { className: "status" }, this.state), button("Start over", () => this.startOver()));
    const code = element("section", { className: "left code-column", "aria-label": "The kernel" }, this.visit, this.editorBox, element("div", { className: "dock-bar" }, this.solved, bar), this.said);
    this.picture.append(this.drawn.element);
    document.body.classList.add("learn");
    document.body.replaceChildren(header, element("main", {}, this.text, code, this.picture), share.element);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.defaultPrevented) void this.run();
    });
    window.addEventListener("hashchange", () => void this.start());
  }

  /** Open what the URL names: a lesson, or a shared kernel; otherwise the last lesson. */
  async start(): Promise<void> {
    const name = location.hash.slice(1);
    const found = LESSONS.find(({ kernel }) => kernel === (name || progress().last));
    if (found || !name) return this.open(found ?? LESSONS[0]!);
    try {
      this.openShared(await openState());
    } catch (error) {
      this.open(this.lesson);
      this.say(wordsOf(error), "failed");
    }
  }

  private openShared({ request, launch }: PageState): void {
    const found = LESSONS.find(({ kernel, reference }) => launch?.reference === reference && request.source.includes(`def ${kernel}(`));
    if (found) return this.open(found, request.source);
    location.replace(`.${location.hash}`); // of no lesson: the explorer shows it
  }

  /** Open a lesson with the reader's own text, or with another person's kernel. */
  private open(lesson: Lesson, shared: string | null = null): void {
    [this.lesson, this.isVisiting] = [lesson, shared !== null];
    this.visit.hidden = !this.isVisiting;
    if (!this.isVisiting) keepLast(lesson);
    document.title = `${lesson.title} · Learn Triton`;
    this.text.replaceChildren(...lessonText(lesson, LESSONS.indexOf(lesson) + 1, (source) => this.write(source)));
    this.text.scrollTop = 0;
    this.edit(shared ?? progress().sources[lesson.kernel] ?? startOf(lesson));
    this.steps.clear(UNDRAWN);
    this.drawn.begin();
    this.forget(IDLE);
    this.list();
  }

  /** Begin anew with a text; nothing of another lesson can be brought back by undo. */
  private edit(text: string): void {
    this.editor?.view.destroy();
    this.editorBox.replaceChildren();
    this.editor = new SourceEditor(this.editorBox, {
      text,
      language: "python",
      selection: new Selection(),
      version: () => null,
      onChange: (source) => this.wrote(source),
      onReopen: () => {},
      onSubmit: () => void this.run(),
    });
  }

  private write(source: string): void {
    this.editor.view.dispatch({ changes: { from: 0, to: this.editor.view.state.doc.length, insert: source }, userEvent: "input" });
    this.editor.view.focus();
  }

  private wrote(source: string): void {
    this.forget("Changed since the last run.");
    this.drawn.outdate("Source");
    if (this.isVisiting) return;
    keepSource(this.lesson, source);
    if (location.hash !== `#${this.lesson.kernel}`) history.pushState(null, "", `#${this.lesson.kernel}`);
  }

  private startOver(): void {
    if (this.isVisiting) return this.choose(this.lesson);
    this.write(startOf(this.lesson));
    keepSource(this.lesson, null);
  }

  private choose(lesson: Lesson): void {
    if (location.hash === `#${lesson.kernel}`) return this.open(lesson);
    location.hash = lesson.kernel; // `start` opens it
  }

  /** Judge the kernel of the open lesson. */
  private async run(): Promise<void> {
    this.forget("Running …", "running");
    const [lesson, source, number] = [this.lesson, this.editor.text, this.runs];
    beginRun(this.editor.view);
    this.steps.clear("Running …");
    this.drawn.begin();
    this.runButton.disabled = true;
    try {
      const judgement = await judge(lesson, source);
      if (number === this.runs) this.show(judgement);
    } catch (error) {
      if (number === this.runs) this.refused(error);
    } finally {
      if (number === this.runs) this.runButton.disabled = false;
    }
  }

  private show({ isSolved, said, details, launch, trace }: Judgement): void {
    const { view } = this.editor;
    const line = view.state.doc.toString().split("\n").findIndex((text) => text.startsWith(`def ${this.lesson.kernel}(`)) + 1;
    const diagnostics = launch.compilation?.diagnostics ?? [];
    showInEditor(view, diagnostics);
    const notes = isUncompiled(launch) ? [] : [...notesOf(launch, line || 1, trace, true), ...details.map((each): LineNote => ({ line: each.line ?? (line || 1), text: each.text, tone: "bad" }))];
    // a run that passed is no success where more is asked for
    showNotes(view, notes.filter(({ tone }) => isSolved || tone !== "good"));
    this.said.replaceChildren(...listed(view, diagnostics, launch.problem ? { slug: "", ...launch.problem } : null));
    this.steps.show(trace);
    this.say(said, isSolved ? "succeeded" : "failed");
    if (isSolved) this.celebrate();
  }

  private refused(error: unknown): void {
    this.steps.clear(UNDRAWN);
    this.say(wordsOf(error), "failed");
    if (error instanceof ProblemAnswered && error.problem.slug === "unauthorized") this.key.ask();
    else if (isPassing(error)) this.say(`${wordsOf(error)} Run it again in a moment.`, "failed");
  }

  private celebrate(): void {
    if (!this.isVisiting) keepSolved(this.lesson);
    this.list();
    const next = LESSONS[LESSONS.indexOf(this.lesson) + 1];
    const cells = Array.from({ length: 24 }, (_, index) => element("i", { className: `program-${index % 8}` }));
    const go = next ? [button(`Next: ${next.title}`, () => this.choose(next), { className: "primary next" })] : [element("span", {}, "That was the last lesson. Well done!")];
    this.runButton.classList.toggle("primary", !next);
    const explore = button("See the PTX", () => void this.explore());
    this.solved.replaceChildren(element("div", { className: "flourish", "aria-hidden": "true" }, ...cells), element("b", {}, "Solved"), element("span", { className: "space" }), explore, ...go);
    this.solved.hidden = false;
  }

  /** Go on with the kernel in the explorer. */
  private async explore(): Promise<void> {
    try {
      location.assign(`.#${await store({ ...this.shared(), panes: ["ttir", "ptx", "resources", "run"] })}`);
    } catch (error) {
      this.say(wordsOf(error), "failed");
    }
  }

  /** Take back the judgement of an earlier text or run. */
  private forget(why: string, state = ""): void {
    this.runs += 1;
    this.solved.hidden = true;
    this.runButton.disabled = false;
    this.runButton.classList.add("primary");
    this.said.replaceChildren();
    this.say(why, state);
  }

  private list(): void {
    const { solved } = progress();
    let number = 0;
    const groups = CHAPTERS.map(([label, lessons]) => element("optgroup", { label }, ...lessons.map(({ kernel, title }) => element("option", { value: kernel }, `${solved.includes(kernel) ? "✓ " : ""}${(number += 1)} ${title}`))));
    this.lessons.replaceChildren(...groups);
    this.lessons.value = this.lesson.kernel;
    this.count.textContent = `${LESSONS.filter(({ kernel }) => solved.includes(kernel)).length} of ${LESSONS.length} solved`;
  }

  private shared(): PageState {
    return { version: 1, request: requestOf(this.lesson, this.editor.text), kept: null, also_kept: [], panes: ["run", "see"], launch: launchOf(this.lesson), contract: null };
  }

  private say(text: string, state: string): void {
    [this.state.textContent, this.state.className] = [text, state];
  }
}
