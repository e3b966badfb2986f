// A pane that runs the kernel: arguments and a reference as forms; the verdict and where it stems from.

import { python } from "@codemirror/lang-python";
import { history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { ask, post } from "./api";
import { commonExtensions, typedOverSelection } from "./code_view";
import { button, element, field, menu } from "./dom";
import { DTYPES, INITS, launchBody } from "./launch";
import type { ArgumentText, LaunchText } from "./page_state";
import type { Content } from "./panes";
import type { RequestBody } from "./request";
import { heatMap, type MismatchMap } from "./heat_map";
import { wordsOf } from "./text_pane";

export interface RunContext {
  /** What the form of the launch holds; changed in place. */
  launch(): LaunchText;
  /** The body of the compile request in the forms. */
  body(): RequestBody;
  /** Keep what was typed. */
  keep(): void;
  /** Show a line of the source. */
  goTo(line: number): void;
  /** Tell that the kernel was run, and how that ended. */
  ran(verdict: string | null): void;
  /** Call `act` when the kernel or its signature may be another; return what ends that. */
  follow(act: () => void): () => void;
}

export interface Finding {
  kind: string;
  message: string;
  line: number | null;
  program: number[] | null;
}

interface Output {
  summary: Record<string, unknown> | null;
  comparison: { matches: boolean; mismatched: number; max_abs_error: unknown; first_mismatch: { index: number[]; actual: unknown; expected: unknown } | null; mismatch_map: MismatchMap | null } | null;
}

interface Launch {
  url: string;
  state: string;
  verdict: string | null;
  outputs: Record<string, Output> | null;
  timing: { median_us: number; interval_us?: [number, number] | null; repeats: number } | null;
  findings: Finding[];
  stdout: string;
  timings_ms: Record<string, number> | null;
  problem: { title: string; detail: string } | null;
  device: { model: string | null; interpreter: boolean } | null;
}

/** How a verdict is shown; all others are bad. */
const TONES: Record<string, string> = { passed: "good", not_checked: "faint" };

export function run(context: RunContext): Content {
  const form = element("div", { className: "launch" });
  const said = element("div", {});
  const status = element("p", { role: "status", className: "faint" });
  const device = menu([["interpreter", "CPU"], ["auto", "GPU, where there is one"]], "interpreter", { "aria-label": "Device" });
  const start = button("Run", () => void go(), { className: "primary" });
  const grid = element("input", { spellcheck: false, title: "Numbers or expressions, such as cdiv(n_elements, BLOCK_SIZE)" });
  grid.addEventListener("input", () => {
    context.launch().grid = grid.value;
    context.keep();
  });
  const reference = referenceEditor(context);
  const referenceBox = element("div", { className: "reference" }, element("h2", {}, "Reference (NumPy, optional)"), reference.dom);

  const draw = (): void => {
    const launch = context.launch();
    if (document.activeElement !== grid) grid.value = launch.grid;
    const rows = Object.entries(launch.arguments).map(([name, text]) => argumentRow(name, text, context));
    form.replaceChildren(...rows);
  };
  const go = async (): Promise<void> => {
    start.disabled = true;
    said.replaceChildren();
    status.textContent = "Running …";
    try {
      const body = launchBody(context.launch(), context.body(), device.value);
      let launch = (await (await post("v1/launches", body)).json()) as Launch;
      while (launch.state === "queued" || launch.state === "running") {
        launch = (await (await ask(`${launch.url}?wait=30`)).json()) as Launch;
      }
      status.textContent = launch.verdict ? `${launch.verdict.replaceAll("_", " ")}` : launch.state;
      status.className = TONES[launch.verdict ?? ""] ?? "bad";
      said.replaceChildren(...outcome(launch, context));
      context.ran(launch.verdict);
    } catch (error) {
      status.textContent = wordsOf(error);
      status.className = "bad";
    } finally {
      start.disabled = false;
    }
  };
  const stop = context.follow(draw);
  draw();
  return {
    element: element(
      "div",
      { className: "body scrolls" },
      element("div", { className: "controls" }, field("Grid", grid), device, start),
      status,
      said,
      form,
      referenceBox,
    ),
    show() {},
    end() {
      stop();
      reference.destroy();
    },
  };
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

function argumentRow(name: string, text: ArgumentText, context: RunContext): HTMLElement {
  const set = (part: Partial<ArgumentText>): void => {
    Object.assign(text, part);
    context.keep();
  };
  const input = (value: string, what: string, change: (typed: string) => void): HTMLElement => {
    const control = element("input", { value, spellcheck: false, autocomplete: "off" });
    control.addEventListener("input", () => change(control.value));
    return field(what, control);
  };
  const choice = (choices: string[], value: string, what: string, change: (chosen: string) => void): HTMLElement => {
    const all = choices.includes(value) ? choices : [value, ...choices];
    const control = menu(all.map((each) => [each, each] as const), value);
    control.addEventListener("change", () => change(control.value));
    return field(what, control);
  };
  const output = element("input", { type: "checkbox", checked: text.output });
  output.addEventListener("change", () => set({ output: output.checked }));
  const fields = text.shape
    ? [
        input(text.shape, "shape", (shape) => set({ shape })),
        choice(DTYPES, text.dtype, "dtype", (dtype) => set({ dtype })),
        choice(INITS, text.init, "filled with", (init) => set({ init })),
        field("output", output, "inline"),
      ]
    : [input(text.value, "value", (value) => set({ value }))];
  return element("fieldset", {}, element("legend", {}, name), ...fields);
}

function outcome(launch: Launch, context: RunContext): HTMLElement[] {
  const shown: HTMLElement[] = [];
  if (launch.problem) shown.push(element("p", { className: "error" }, `${launch.problem.title}: ${launch.problem.detail}`));
  if (launch.device && launch.timings_ms) {
    const where = launch.device.interpreter ? "the CPU device" : (launch.device.model ?? "a GPU");
    shown.push(element("p", { className: "faint" }, `On ${where}, ${Math.round(launch.timings_ms.total ?? 0)} ms from queue to verdict.`));
  }
  const findings = launch.findings ?? [];
  if (findings.length) shown.push(element("ul", { className: "diagnostics" }, ...findings.map((each) => finding(each, context))));
  for (const [name, output] of Object.entries(launch.outputs ?? {})) shown.push(outputShown(name, output));
  if (launch.timing) {
    const { median_us, interval_us, repeats } = launch.timing;
    const interval = interval_us ? ` (${interval_us.map((us) => us.toFixed(2)).join(" to ")} µs)` : "";
    shown.push(element("p", {}, `median ${median_us.toFixed(2)} µs${interval}, ${repeats} repeats`));
  }
  if (launch.stdout) shown.push(element("pre", {}, launch.stdout));
  return shown;
}

function finding(each: Finding, context: RunContext): HTMLElement {
  const { line } = each;
  const place = line ? button(`line ${line}`, () => context.goTo(line), { className: "place" }) : null;
  return element("li", { className: "error" }, element("b", {}, each.kind.replaceAll("_", " ")), " ", place, " ", each.message);
}

function outputShown(name: string, { summary, comparison }: Output): HTMLElement {
  const numbers = Object.entries(summary ?? {}).map(([what, value]) => `${what} ${JSON.stringify(value)}`);
  const shown = element("div", {}, element("h2", {}, name), element("p", { className: "faint" }, numbers.join(", ")));
  if (comparison) {
    const first = comparison.first_mismatch;
    const where = first ? `, the first at [${first.index.join(", ")}]: ${String(first.actual)} where ${String(first.expected)} is expected` : "";
    const words = comparison.matches ? "as the reference" : `${comparison.mismatched} differ from the reference${where}`;
    shown.append(element("p", { className: comparison.matches ? "good" : "bad" }, words));
    if (comparison.mismatch_map) shown.append(heatMap(name, comparison.mismatch_map));
  }
  return shown;
}
