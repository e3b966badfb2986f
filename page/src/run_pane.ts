// A pane that runs the kernel: forms for arguments, cases and a reference; the verdict and findings.

import { python } from "@codemirror/lang-python";
import { history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { commonExtensions, typedOverSelection } from "./code_view";
import { ProblemAnswered } from "./api";
import { button, element, field, menu } from "./dom";
import { clearErrors, showErrors } from "./field_errors";
import { Found, type Change } from "./found";
import { caseBody, launchBody } from "./launch";
import { argumentRows, CaseForms } from "./launch_form";
import { launched, runsOf, toneOf, verdictOf, type Launch, type Run } from "./launched";
import type { LineHeat, LineNote } from "./line_notes";
import type { ArgumentText, CaseText, LaunchText } from "./page_state";
import type { Content } from "./pane_kinds";
import type { RequestBody } from "./request";
import { caseTable, circumstances, outcome } from "./run_outcome";
import { heatOf, notesOf } from "./run_notes";
import { wordsOf } from "./text_pane";
import { tracedOf, tracing, type Traced } from "./trace";
import type { FieldError } from "./wire";

const NOT_RUN = "Not run: fix the red field.";
const GUESSED_SIZES = "The kernel may be right: sizes below are guesses, and they may not fit each other. Check them first.";
/** Where a launch holds its compile request, which other forms show. */
const COMPILATION = "/compilation";

export interface RunContext {
  /** The content of the launch form; changed in place. */
  launch(): LaunchText;
  /** The body of the compile request in the forms. */
  body(): RequestBody;
  /** Store the typed values. */
  keep(): void;
  /** Show a line of the source. */
  goTo(line: number): void;
  /** The line that defines the kernel. */
  kernelLine(): number;
  /** Remove the notes of the last run; lines of the next one are those of the present text. */
  beginRun(): void;
  /** Show errors at fields of the compile request; return the others. */
  refuse(errors: readonly FieldError[]): FieldError[];
  /** Show a run's notes in the editor. */
  note(notes: readonly LineNote[], heat: readonly LineHeat[]): void;
  /** True if a pane is open that draws runs. */
  isDrawn(): boolean;
  /** The arguments of the form, and "Grid", that are guesses. */
  guesses(): string[];
  /** Report the result of a run. */
  ran(verdict: string | null): void;
  /** Draw a run: from its trace, or by launching `body`. */
  draw(body: RequestBody, trace: Traced | null): void;
  /** Call `act` when the kernel or its signature may have changed; return a function that stops it. */
  follow(act: () => void): () => void;
}

export function run(context: RunContext): Content {
  return new RunPane(context);
}

class RunPane implements Content {
  readonly element: HTMLElement;
  private readonly form = element("div", { className: "launch" });
  private readonly said = element("div", {});
  private readonly status = element("p", { role: "status", className: "faint" });
  private readonly found = new Found(this.status, this.said);
  private readonly device = menu([["cpu", "CPU"], ["auto", "GPU (CPU if none)"]], "cpu", { "aria-label": "Device" });
  private readonly start = button("Run", () => void this.go(), { className: "primary run" });
  private readonly grid = element("input", { spellcheck: false, title: "Numbers or expressions, such as cdiv(n_elements, BLOCK_SIZE)" });
  private readonly profiles = element("input", { type: "checkbox", title: "Run once more under a profiler, to show at which lines warps stall" });
  private readonly profilesField = field("profile by line", this.profiles, "inline");
  private readonly guesses = element("p", { className: "faint" });
  private readonly cases: CaseForms;
  private readonly reference: EditorView;
  private readonly stop: () => void;
  /** The texts that the fields show and change. */
  private drawn: readonly (string | ArgumentText | CaseText[])[] = [];

  constructor(private readonly context: RunContext) {
    this.cases = new CaseForms(() => context.launch(), () => this.keep());
    this.reference = referenceEditor(context);
    this.grid.dataset.pointer = "/grid";
    this.grid.addEventListener("input", () => {
      context.launch().grid = this.grid.value;
      this.keep();
    });
    this.device.addEventListener("change", () => this.offer());
    this.offer();
    this.element = element(
      "div",
      { className: "body scrolls" },
      element("div", { className: "controls" }, field("Grid", this.grid), this.device, this.start, this.profilesField),
      this.found.element,
      this.guesses,
      this.form,
      this.cases.element,
      element("div", { className: "reference" }, element("h2", {}, "Reference (NumPy, optional)"), this.reference.dom),
    );
    this.stop = context.follow(() => this.draw());
    this.draw();
  }

  show(): void {}

  outdate(what: Change): void {
    this.found.outdate(what);
  }

  end(): void {
    this.stop();
    this.reference.destroy();
  }

  private draw(): void {
    const launch = this.context.launch();
    this.markGuesses();
    if (document.activeElement !== this.grid) this.grid.value = launch.grid;
    const { doc } = this.reference.state;
    if (doc.toString() !== launch.reference) this.reference.dispatch({ changes: { from: 0, to: doc.length, insert: launch.reference } });
    const now = [...Object.entries(launch.arguments).flat(), launch.cases];
    // new fields would take the focus from a person who types into the old ones
    if (now.length === this.drawn.length && now.every((part, index) => part === this.drawn[index])) return;
    this.drawn = now;
    this.form.replaceChildren(...argumentRows(launch, () => this.keep()));
    this.cases.draw();
  }

  private keep(): void {
    this.context.keep();
    this.markGuesses();
  }

  private markGuesses(): void {
    const names = this.context.guesses();
    this.guesses.hidden = !names.length;
    this.guesses.replaceChildren(element("strong", { className: "guessed" }, "guessed"), ` ${names.join(", ")}`);
  }

  /** Offer the device's features. */
  private offer(): void {
    this.profilesField.hidden = this.device.value === "cpu";
  }

  private async go(): Promise<void> {
    this.start.disabled = true;
    this.said.replaceChildren();
    this.say("Running …", "faint");
    clearErrors(this.element);
    this.found.begin();
    this.context.beginRun();
    this.status.scrollIntoView({ block: "nearest" });
    try {
      const text = structuredClone(this.context.launch());
      const compilation = this.context.body();
      const body = launchBody(text, compilation, this.device.value);
      if (this.device.value !== "cpu" && this.profiles.checked) body.profile = "lines";
      // each case has other arguments, so the programs to trace are chosen later
      const isTraced = this.context.isDrawn() && this.device.value === "cpu" && !text.cases.length;
      const launch = await launched(isTraced ? tracing(body) : body);
      if (this.isAtField(launch)) return;
      const trace = isTraced ? await tracedOf(body, launch) : null;
      const worst = Math.max(0, runsOf(launch).findIndex((each) => each.verdict === launch.verdict));
      this.context.ran(launch.verdict);
      this.look(launch, worst, trace, (index) => (index ? caseBody(text, index - 1, compilation) : launchBody({ ...text, cases: [] }, compilation, "cpu")));
    } catch (error) {
      this.refused(error);
    } finally {
      this.start.disabled = false;
    }
  }

  /** Say why there was no run, at the fields where that is possible. */
  private refused(error: unknown): void {
    const errors = error instanceof ProblemAnswered ? (error.problem.errors ?? []) : [];
    const own = showErrors(this.element, errors.filter(({ pointer }) => !pointer.startsWith(COMPILATION)));
    const theirs = errors.filter(({ pointer }) => pointer.startsWith(COMPILATION)).map(({ pointer, message }) => ({ pointer: pointer.slice(COMPILATION.length), message }));
    const unplaced = [...own, ...(theirs.length ? this.context.refuse(theirs) : [])];
    const words = unplaced.length ? unplaced.map(({ message }) => message).join(" ") : wordsOf(error);
    this.say(errors.length && !unplaced.length ? NOT_RUN : words, "bad");
  }

  /** Show why a launch failed at the field that its problem names; return whether there is one. */
  private isAtField({ problem, verdict }: Launch): boolean {
    const [, pointer = "", message = ""] = /^(\/\S+): (.+)$/s.exec(problem?.detail ?? "") ?? [];
    if (verdict || !pointer || showErrors(this.element, [{ pointer, message }]).length) return false;
    this.say(NOT_RUN, "bad");
    return true;
  }

  /** Show a run: its result, its notes in the editor, and its picture. */
  private look(launch: Launch, index: number, trace: Traced | null, bodyOf: (index: number) => RequestBody): void {
    const runs = runsOf(launch);
    const run: Run = runs[index] ?? launch;
    this.say(launch.verdict ? verdictOf(launch) : launch.state, toneOf(launch.verdict));
    const table = launch.cases ? [caseTable(runs, index, (chosen) => this.look(launch, chosen, null, bodyOf))] : [];
    const problem = launch.cases && launch.problem ? [element("p", { className: "error" }, launch.problem.detail)] : [];
    const isDoubtful = ["out_of_bounds", "illegal_access"].includes(run.verdict ?? "") && this.context.guesses().length > 0;
    const doubt = isDoubtful ? [element("p", { className: "faint" }, GUESSED_SIZES)] : [];
    this.said.replaceChildren(...circumstances(launch), ...problem, ...table, ...doubt, ...outcome(run, (line) => this.context.goTo(line)));
    this.context.note(notesOf(run, this.context.kernelLine(), trace), heatOf(run));
    this.context.draw(bodyOf(index), trace);
  }

  private say(text: string, tone: string): void {
    [this.status.textContent, this.status.className] = [text, tone];
  }
}

function referenceEditor(context: RunContext): EditorView {
  const placeholder = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr";
  return new EditorView({
    state: EditorState.create({
      doc: context.launch().reference,
      extensions: [
        commonExtensions(`Reference, such as ${placeholder}`),
        typedOverSelection,
        history(),
        keymap.of([...historyKeymap, indentWithTab]),
        python(),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          context.launch().reference = update.state.doc.toString();
          context.keep();
        }),
      ],
    }),
  });
}
