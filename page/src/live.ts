// Compiles once the text and the forms are settled, and withdraws what was superseded.

import { keep, kept } from "./browser_storage";
import type { Progress } from "./compiled";
import { button, element } from "./dom";
import { BY_NAME } from "./stages";

/** The time from the last key to the compilation. */
const SETTLED_MS = 450;
/** The time until a request is repeated that the service could not take. */
const AGAIN_MS = 2000;
const SWITCH = "tritond-live";

/** The jobs of the page: at most one is under way, the newest. */
export class LiveCompiler {
  private timer = 0;
  private running: { what: string; abort: AbortController } | null = null;
  private readonly box = element("input", { type: "checkbox", checked: kept("localStorage", SWITCH) !== "off" });
  /** The switch of the header. */
  readonly element = element("label", { className: "switch", title: "Compile while you type. Ctrl+Enter compiles at once." }, this.box, "Live");

  constructor(private readonly compile: () => void) {
    this.box.addEventListener("change", () => {
      keep("localStorage", SWITCH, this.box.checked ? null : "off");
      if (this.box.checked) this.compile();
    });
  }

  get isOn(): boolean {
    return this.box.checked;
  }

  /** The text or a form has changed: withdraw what is under way, and compile soon. */
  changed(): void {
    if (!this.isOn) return;
    this.stop();
    this.timer = window.setTimeout(this.compile, SETTLED_MS);
  }

  /** Compile again soon, since the service could not take the request. */
  again(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(this.compile, AGAIN_MS);
  }

  /** Begin a job: withdraw the one before. Returns null if the same is under way. */
  begin(what: string): AbortSignal | null {
    if (this.running?.what === what) return null;
    this.stop();
    this.running = { what, abort: new AbortController() };
    return this.running.abort.signal;
  }

  ended(signal: AbortSignal): void {
    if (this.running?.abort.signal === signal) this.running = null;
  }

  /** Withdraw what is under way, and what is about to begin. */
  stop(): void {
    clearTimeout(this.timer);
    this.running?.abort.abort();
    this.running = null;
  }
}

/** The line below the editor: the result, or how far the compilation is, with its seconds and "Cancel". */
export class StatusLine {
  private readonly words = element("p", { id: "state", role: "status" }, "Nothing compiled yet.");
  private readonly clock = element("span", { className: "clock", "aria-hidden": "true" });
  private readonly cancel = button("Cancel", () => this.whenCancelled(), { className: "small", hidden: true });
  readonly element = element("div", { className: "status" }, this.words, this.clock, this.cancel);
  private began_ms = 0;
  private ticks = 0;

  constructor(private readonly whenCancelled: () => void) {}

  say(text: string, state: string): void {
    clearInterval(this.ticks);
    this.ticks = 0;
    [this.clock.textContent, this.cancel.hidden] = ["", true];
    this.write(text, state);
  }

  /** Show that a compilation is under way. */
  wait({ stage, queuePosition }: Progress = { stage: null, queuePosition: null }): void {
    if (!this.ticks) {
      this.began_ms = performance.now();
      this.ticks = window.setInterval(() => this.tick(), 100);
      this.cancel.hidden = false;
    }
    const at = stage ? `: ${BY_NAME.get(stage)?.title ?? stage}` : "";
    this.write(queuePosition ? `Queued, position ${queuePosition}` : `Compiling${at} …`, "running");
  }

  get isWaiting(): boolean {
    return this.ticks !== 0;
  }

  set title(text: string) {
    this.words.title = text;
  }

  private write(text: string, state: string): void {
    if (this.words.textContent !== text) this.words.textContent = text; // or screen readers repeat it
    this.words.className = state;
    this.words.title = "";
  }

  private tick(): void {
    const s = (performance.now() - this.began_ms) / 1000;
    this.clock.textContent = s < 1 ? "" : `${s.toFixed(s < 10 ? 1 : 0)} s`;
  }
}
