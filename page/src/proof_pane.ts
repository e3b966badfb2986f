// A pane that proves the kernel for all sizes: its contract, each access's verdict, witnesses and fixes.

import { ProblemAnswered } from "./api";
import type { Compiled } from "./compiled";
import { button, element, field } from "./dom";
import { clearErrors, showErrors } from "./field_errors";
import { Found, type Change } from "./found";
import type { LaunchText } from "./page_state";
import type { Content, Shown } from "./pane_kinds";
import { argumentsOf, casesOf, CHECKS, isWhole, launchOfWitness, patched, proved, recheckedText, type Access, type Answer, type Proof, type Witness } from "./proof";
import type { RunContext } from "./run_pane";
import { PRODUCTS } from "./targets";
import { wordsOf } from "./text_pane";

const NOTHING = "State what holds for every launch (sizes, strides, grid), or infer it from your runs. Three runs with different prime sizes work best.";
const PLACEHOLDER = "sizes rows\nx_ptr: rows * stride\nn_cols <= stride\ngrid: rows";
const TONES: Readonly<Record<string, string>> = { proved: "good", refuted: "bad" };

export interface ProofContext extends RunContext {
  /** The contract, "" for none. */
  contract(): string;
  /** Keep a contract that was typed or inferred. */
  keepContract(text: string): void;
  /** Prove what stands in the editor and forms; null if it does not compile or has no contract. Raises ProblemAnswered. */
  prove(): Promise<Proof | null>;
  /** Show a line of the text that was compiled. */
  goToCompiled(line: number): void;
  /** Fill the Run pane. */
  fill(launch: LaunchText): void;
  /** The source. */
  text(): string;
  /** Replace the source. */
  write(text: string): void;
}

export function proof(context: ProofContext): Content {
  return new ProofPane(context);
}

class ProofPane implements Content {
  readonly element: HTMLElement;
  private readonly contract = element("textarea", { rows: 5, spellcheck: false, placeholder: PLACEHOLDER, className: "contract" });
  private readonly status = element("p", { role: "status", className: "faint" }, NOTHING);
  private readonly said = element("div", {});
  private readonly found = new Found(this.status, this.said);
  private readonly start = button("Prove", () => void this.go(() => this.context.prove()), { className: "primary" });
  private readonly infer = button("Infer the contract", () => void this.go(() => this.inferred()), { title: "From the launch and cases in the Run pane" });
  private current: Compiled | null = null;
  /** The number of started proofs. */
  private runs = 0;

  constructor(private readonly context: ProofContext) {
    this.contract.dataset.pointer = "/contract";
    this.contract.value = context.contract();
    this.contract.addEventListener("input", () => {
      context.keepContract(this.contract.value);
      this.found.outdate("Contract");
    });
    this.element = element(
      "div",
      { className: "body scrolls", tabIndex: 0, role: "group", "aria-label": "Proof for all sizes" },
      element("div", { className: "controls" }, this.start, this.infer),
      field("Contract: what holds for every launch", this.contract),
      this.found.element,
    );
  }

  show({ compiled }: Shown): void {
    if (compiled === this.current) return;
    this.current = compiled;
    if (document.activeElement !== this.contract) this.contract.value = this.context.contract();
    if (compiled && this.context.contract()) void this.go(() => this.context.prove());
  }

  outdate(what: Change): void {
    if (what !== "Launch") this.found.outdate(what);
  }

  end(): void {
    this.runs += 1;
  }

  private async go(prove: () => Promise<Proof | null>): Promise<void> {
    const number = (this.runs += 1);
    clearErrors(this.element);
    this.found.begin();
    this.say("Proving …", "faint");
    try {
      const found = await prove();
      if (number === this.runs) this.look(found);
    } catch (error) {
      if (number === this.runs) this.refused(error);
    }
  }

  /** Have the contract inferred, and keep it. */
  private async inferred(): Promise<Proof | null> {
    if (!this.current) return null;
    const cases = casesOf(this.context.launch(), this.context.body());
    const { contract } = await proved({ compilation: this.current.compilation.key, cases });
    this.contract.value = contract ?? "";
    this.context.keepContract(this.contract.value);
    return this.context.prove();
  }

  private refused(error: unknown): void {
    const errors = error instanceof ProblemAnswered ? (error.problem.errors ?? []) : [];
    const unplaced = showErrors(this.element, errors);
    this.said.replaceChildren();
    this.say(errors.length && !unplaced.length ? "Not proved: fix the contract." : wordsOf(error), "bad");
  }

  private look(found: Proof | null): void {
    this.said.replaceChildren();
    if (!found) return this.say(this.context.contract() ? "Compile the kernel first." : NOTHING, "faint");
    if (found.problem) return this.say(`${found.problem.title}: ${found.problem.detail}`, "bad");
    const isProved = isWhole(found);
    this.say(isProved ? "Proved for all sizes allowed by the contract." : (found.reason ?? wordsOfVerdict(found)), isProved ? "good" : found.verdict === "refuted" ? "bad" : "faint");
    const rechecked = recheckedText(found.accesses);
    this.said.replaceChildren(...(rechecked ? [element("p", { className: "faint" }, rechecked)] : []), ...found.accesses.map((each) => this.accessShown(each)));
  }

  private accessShown(access: Access): HTMLElement {
    const { line } = access;
    const place = line === null ? null : button(`line ${line}`, () => this.context.goToCompiled(line), { className: "place" });
    const wraps = access.overflow !== null && access.overflow.verdict !== "proved";
    const answers = CHECKS.flatMap(([check, title]) => (access[check] ? [this.answerShown(title, check, access[check], check === "bounds" && wraps)] : []));
    return element("section", { className: "access" }, element("h2", {}, place, ` ${access.kind} ${access.argument ?? ""}`), ...answers);
  }

  /** `unlessItWraps`: the answer is about integers of any size, and those of the access may overflow. */
  private answerShown(title: string, check: string, answer: Answer, unlessItWraps: boolean): HTMLElement {
    const { verdict, replay, witness, fix } = answer;
    const isLimited = verdict === "proved" && unlessItWraps;
    const words = element("b", { className: isLimited ? "warn" : (TONES[verdict] ?? "warn") }, isLimited ? "proved only if no integer overflows" : verdict);
    const shown = element("div", { className: "answer" }, `${title}: `, words, element("span", { className: "faint" }, said(check, answer)));
    if (replay && verdict === "refuted") shown.append(element("p", {}, `The CPU device ran it: ${replay.message}`));
    if (witness) shown.append(this.witnessShown(witness));
    if (fix) shown.append(this.fixShown(fix));
    return shown;
  }

  private witnessShown(witness: Witness): HTMLElement {
    const launch = launchOfWitness(witness, this.context.launch());
    const fill = launch && button("To the Run pane", () => this.context.fill(launch), { className: "small", title: "Fill the Run pane with these sizes" });
    const rows = argumentsOf(witness).map(([name, text]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, text)));
    const request = element("details", {}, element("summary", {}, "The launch"), element("table", { className: "numbers" }, ...rows));
    return element("div", { className: "witness" }, fill, request);
  }

  private fixShown({ patch, registers, instructions, target }: NonNullable<Answer["fix"]>): HTMLElement {
    const apply = button("Apply", () => {
      const text = patched(this.context.text(), patch);
      if (text === null) this.say("The source has changed. Prove again.", "bad");
      else this.context.write(text);
    }, { className: "small" });
    const counts = instructions.map((each) => each && Object.values(each).reduce((sum, count) => sum + count, 0));
    const costs = ([["registers", registers], ["instructions", counts]] as const).filter(([, pair]) => pair.length === 2 && !pair.includes(null));
    const cost = costs.map(([what, [before, after]]) => `${what} ${before === after ? "unchanged" : `${before} → ${after}`}`).join(", ");
    return element("div", {}, element("p", {}, `Fix, proved.${cost ? ` Cost on ${PRODUCTS.get(target)?.split(",")[0] ?? target}: ${cost}.` : ""} `, apply), element("pre", { tabIndex: 0 }, patch.replace(/^--- .*\n\+\+\+ .*\n/, "")));
  }

  private say(text: string, tone: string): void {
    [this.status.textContent, this.status.className] = [text, tone];
  }
}

/** Return a verdict that gives no reason in words: how many accesses it is about. */
function wordsOfVerdict({ verdict, state, accesses }: Proof): string {
  const count = (holds: (access: Access) => boolean): string => {
    const found = accesses.filter(holds).length;
    return found ? `${found} access${found === 1 ? "" : "es"}` : "";
  };
  const outside = count(({ bounds }) => bounds?.verdict === "refuted");
  const wrapping = count(({ overflow }) => overflow?.verdict === "refuted");
  const open = count((access) => CHECKS.some(([check]) => access[check] && access[check].verdict !== "proved"));
  if (outside) return `Refuted: ${outside} can be out of bounds.`;
  if (wrapping) return `Refuted: 32-bit integers of ${wrapping} can overflow.`;
  return open ? `Not proved: ${open} undecided.` : `The proof ended as ${verdict ?? state}.`;
}

/** Return an answer's reason, or what it was proved under. */
function said(check: string, { verdict, proved_under, reason, expression, line, replay }: Answer): string {
  if (verdict === "proved") return proved_under.length ? `, given ${proved_under.join(", ")}` : "";
  if (verdict !== "refuted") return `: ${reason ?? "no reason given"}`;
  const sizes = Object.entries(replay?.sizes ?? {}).map(([name, value]) => `${name} = ${value.toLocaleString("en")}`);
  const what = check === "overflow" ? `wraps${line === null ? "" : ` at line ${line}`}` : "leaves its buffer";
  return `: ${expression ?? ""} ${what}, first at ${sizes.join(", ") || "any sizes"}`;
}
