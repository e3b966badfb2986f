// A pane that launches the kernel on the CPU device and draws the launch, or draws a run of the pane Run.

import { button, element } from "./dom";
import { Found } from "./found";
import { launchBody } from "./launch";
import type { Content } from "./pane_kinds";
import type { RequestBody } from "./request";
import type { RunContext } from "./run_pane";
import { StepView } from "./step_view";
import { wordsOf } from "./text_pane";
import { traced, type Traced } from "./trace";

export interface SeeContext extends RunContext {
  /** Call `draw` with each run to draw; return a function that stops it. */
  drawing(draw: (body: RequestBody, trace: Traced | null) => void): () => void;
}

const NOTHING = "Run the kernel here to see the reads and writes of its programs, step by step.";

export function see(context: SeeContext): Content {
  const shown = element("div", { className: "body scrolls", tabIndex: 0, role: "group", "aria-label": "The launch, drawn" });
  const steps = new StepView((line) => context.goTo(line), shown);
  steps.clear(NOTHING);
  const found = new Found(steps.element);
  /** The number of started runs. */
  let runs = 0;
  // the launch of the forms, without further cases
  const form = (): RequestBody => launchBody({ ...context.launch(), cases: [] }, context.body(), "cpu");
  const start = button("See", () => void go(() => traced(form())));
  /** Draw what `trace` returns, unless a newer run has started. */
  const go = async (trace: () => Promise<Traced>): Promise<void> => {
    const number = (runs += 1);
    start.disabled = true;
    found.begin();
    steps.say("Running …", "faint");
    try {
      const drawn = await trace();
      if (number === runs) steps.show(drawn);
    } catch (error) {
      if (number === runs) steps.clear(wordsOf(error), "bad");
    } finally {
      if (number === runs) start.disabled = false;
    }
  };
  const stopFollowing = context.drawing((body, trace) => void go(() => (trace ? Promise.resolve(trace) : traced(body))));
  shown.append(element("div", { className: "controls" }, start), found.element);
  return {
    element: shown,
    show() {},
    outdate: (what) => found.outdate(what),
    end() {
      stopFollowing();
      steps.end();
    },
  };
}
