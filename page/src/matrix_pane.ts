// A pane that compiles a kernel for many targets, or with many values of an option or constexpr, and
// proves each of them if there is a contract.

import { ask, post } from "./api";
import { button, element, field, menu } from "./dom";
import { Found } from "./found";
import { numbersOf } from "./compiled_numbers";
import type { Content } from "./pane_kinds";
import { CHECKS, type Proof } from "./proof";
import { constexprOf, type RequestBody } from "./request";
import { COMMON_TARGETS } from "./targets";
import { wordsOf } from "./text_pane";
import type { Compilation, Problem } from "./wire";

const MOST = 40;
const PROOF = "proof for all sizes";
const TONES: Readonly<Record<string, string>> = { proved: "good", refuted: "bad" };
const COLUMNS = ["registers", "spill store bytes", "shared bytes", "occupancy"];
const VALUES: Record<string, string> = { target: COMMON_TARGETS.join(", "), num_warps: "1, 2, 4, 8", num_stages: "1, 2, 3, 4" };

export interface MatrixContext {
  /** The body of the compile request in the forms. */
  body(): RequestBody;
  /** The contract, "" for none. */
  contract(): string;
  /** Call `act` when the forms may have changed; return a function that stops it. */
  follow(act: () => void): () => void;
}

interface Item<Result> {
  state: string;
  result: Result | null;
  problem: Problem | null;
}

type Compiling = Item<Compilation>;
type Proving = Item<Proof>;

export function matrix(context: MatrixContext): Content {
  const axis = menu([], "", {});
  const values = element("input", { spellcheck: false, autocomplete: "off" });
  const status = element("p", { role: "status", className: "faint" });
  const table = element("table", { className: "numbers matrix" });
  const found = new Found(status, table);
  const start = button("Compile all", () => void go(), { className: "primary" });

  const offer = (): void => {
    const chosen = axis.value || "target";
    const constexprs = Object.keys((context.body().constexprs as object | undefined) ?? {});
    const names = ["target", "num_warps", "num_stages", ...constexprs];
    axis.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
    axis.value = names.includes(chosen) ? chosen : "target";
    if (!values.value) suggest();
  };
  const suggest = (): void => {
    const now = (context.body().constexprs as Record<string, unknown> | undefined)?.[axis.value];
    const around = typeof now === "number" ? [now / 4, now / 2, now, now * 2].filter((each) => Number.isInteger(each)) : [];
    values.value = VALUES[axis.value] ?? around.join(", ");
  };
  const go = async (): Promise<void> => {
    found.begin();
    table.replaceChildren(); // rows of an earlier run would look current
    const texts = values.value.split(",").map((text) => text.trim()).filter(Boolean);
    if (!texts.length || texts.length > MOST) {
      status.textContent = `Enter 1 to ${MOST} values, separated by commas.`;
      return;
    }
    [start.disabled, status.textContent] = [true, "Compiling …"];
    try {
      const requests = texts.map((text) => varied(context.body(), axis.value, text));
      const varying = axis.value;
      const items = await all<Compilation>("compilations", requests);
      const made = items.filter(isMade);
      const succeeded = `${made.length} of ${items.length} succeeded.`;
      const contract = made.length ? context.contract() : "";
      table.replaceChildren(...rows(varying, texts, items));
      if (contract) {
        status.textContent = `${succeeded} Proving …`;
        const proofs = await all<Proof>("proofs", made.map(({ result }) => ({ compilation: result!.key, contract })));
        const found = new Map(made.map((item, index) => [item, proofs[index]!]));
        table.replaceChildren(...rows(varying, texts, items, found));
      }
      status.textContent = succeeded;
    } catch (error) {
      status.textContent = wordsOf(error);
    } finally {
      start.disabled = false;
    }
  };
  axis.addEventListener("change", suggest);
  const stop = context.follow(offer);
  offer();
  return {
    element: element(
      "div",
      { className: "body scrolls", tabIndex: 0, role: "group", "aria-label": "Matrix" },
      element("div", { className: "controls" }, field("Vary", axis), field("Values", values, "field values"), start),
      found.element,
    ),
    show() {},
    outdate(what) {
      if (what !== "Launch") found.outdate(what);
    },
    end: stop,
  };
}

function varied(body: RequestBody, axis: string, text: string): RequestBody {
  if (axis === "target") return { ...body, target: text };
  const part = axis.startsWith("num_") && !(axis in ((body.constexprs as object | undefined) ?? {})) ? "options" : "constexprs";
  return { ...body, [part]: { ...(body[part] as object | undefined), [axis]: constexprOf(text, []) } };
}

async function all<Result>(kind: string, requests: RequestBody[]): Promise<Item<Result>[]> {
  const answer = await post("v1/batches", { kind, requests });
  let batch = (await answer.json()) as { url: string; items: Item<Result>[] };
  while (batch.items.some(({ state }) => state === "queued" || state === "running")) {
    batch = (await (await ask(`${batch.url}?wait=30`)).json()) as typeof batch;
  }
  return batch.items;
}

function isMade({ result }: Compiling): boolean {
  return result?.state === "succeeded";
}

function rows(axis: string, texts: string[], items: Compiling[], proofs: Map<Compiling, Proving> | null = null): HTMLElement[] {
  const numbers = items.map(({ result }) => (result ? numbersOf(result) : new Map<string, string>()));
  const values = COLUMNS.map((name) => numbers.map((each) => parseFloat(each.get(name) ?? "0")));
  // bars of equal lengths would say nothing
  const highest = values.map((each) => (new Set(each).size > 1 ? Math.max(0, ...each) : 0));
  const head = element("tr", {}, ...[axis, ...COLUMNS, ...(proofs ? [PROOF] : [])].map((name) => element("th", { scope: "col" }, name)));
  const body = items.map((item, index) => {
    const label = element("th", { scope: "row" }, texts[index]!);
    if (!isMade(item)) {
      const why = item.result?.problem?.detail ?? item.problem?.detail ?? item.state;
      return element("tr", {}, label, element("td", { colSpan: COLUMNS.length + (proofs ? 1 : 0), className: "bad" }, why));
    }
    const proof = proofs?.get(item);
    return element("tr", {}, label, ...COLUMNS.map((name, column) => cell(numbers[index]!.get(name) ?? "", highest[column]!)), proof ? proofCell(proof) : null);
  });
  return [element("thead", {}, head), element("tbody", {}, ...body)];
}

/** The verdict, and what the first answer with it is about. */
function proofCell({ state, result, problem }: Proving): HTMLElement {
  const wrong = problem ?? result?.problem;
  const verdict = wrong ? "not proved" : (result?.verdict ?? state);
  const why = wrong ? (wrong.errors?.[0]?.message ?? wrong.detail) : (result?.reason ?? firstPlace(result, verdict));
  return element("td", {}, element("b", { className: TONES[verdict] ?? "warn" }, verdict), why && element("span", { className: "faint" }, ` ${why}`));
}

function firstPlace(proof: Proof | null, verdict: string): string | null {
  if (verdict === "proved") return null;
  for (const access of proof?.accesses ?? []) {
    const found = CHECKS.find(([check]) => access[check]?.verdict === verdict);
    if (found) return `${found[1].toLowerCase()}, line ${access.line ?? "?"}`;
  }
  return null;
}

/** A number, first, and a bar that compares it with the others of its column. */
function cell(text: string, highest: number): HTMLElement {
  const value = parseFloat(text);
  const number = /^[\d.]+(?: %)?/.exec(text)?.[0] ?? "";
  const shown = element("td", {}, element("b", {}, number), text.slice(number.length));
  if (highest > 0 && Number.isFinite(value)) {
    const bar = element("span", { className: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", `${Math.round((100 * value) / highest)}%`);
    shown.append(bar);
  }
  return shown;
}
