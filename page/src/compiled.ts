// A finished compilation; fetches artifacts, lines and passes once each.

import { ask, events, made } from "./api";
import type { TypeLayout } from "./layouts";
import { huesOf, tableOf, tableOfMlir, tableOfNumpy, tableOfSource, type LineTable, type Place } from "./line_links";
import type { RequestText } from "./page_state";
import { proved, type Proof } from "./proof";
import type { RequestBody } from "./request";
import { BY_NAME, STAGES } from "./stages";
import { PRODUCTS } from "./targets";
import type { Compilation, Explanation, LinesEntry, Pass } from "./wire";

/** The machine instructions of a kernel; those of no source line have neither file nor line. */
export interface InstructionCounts {
  total: number;
  by_class: Record<string, number>;
  by_line: { file: string | null; line: number | null; total: number; local_bytes: number; by_class: Record<string, number> }[];
}

export class Compiled {
  private readonly texts = new Map<string, Promise<string>>();
  private entries: Promise<LinesEntry[]> | null = null;
  private readonly proofs = new Map<string, Promise<Proof>>();
  private allPasses: Promise<Pass[]> | null = null;
  private counts: Promise<InstructionCounts> | null = null;
  private allLayouts: Promise<TypeLayout[]> | null = null;
  private costs: Promise<Explanation> | null = null;

  constructor(
    readonly request: RequestText,
    readonly body: RequestBody,
    readonly compilation: Compilation,
    readonly cacheStatus: string,
    /** The assumptions of its request, in words; "" for none. */
    readonly assumed: string,
  ) {}

  /** True if the compilation has the text `name`. */
  has(name: string): boolean {
    const { artifacts } = this.compilation;
    const stage = BY_NAME.get(name);
    if (!stage) return false;
    return stage.derivedFrom.length ? stage.derivedFrom.some((from) => from in artifacts) : name in artifacts;
  }

  /** True if it succeeded, or at least came to what a pane of this kind shows. */
  reached(kind: string): boolean {
    const { state, artifacts, resources } = this.compilation;
    if (state === "succeeded" || kind === "passes") return state === "succeeded" || "ttir" in artifacts;
    return kind === "resources" ? Boolean(resources?.backend) : BY_NAME.has(kind) && this.has(kind);
  }

  /** Return an artifact's text. Raises ProblemAnswered. */
  text(name: string): Promise<string> {
    let text = this.texts.get(name);
    if (!text) {
      text = made(`${this.compilation.url}/artifacts/${name}`).then((answer) => answer.text());
      this.texts.set(name, text);
    }
    return text;
  }

  /** Return the lines of `name`, linked with the source lines. Raises ProblemAnswered. */
  async table(name: string): Promise<LineTable> {
    if (name === "numpy") return tableOfNumpy(await this.text(name));
    if (name === "source") return tableOfMlir(await this.text(name));
    return tableOf(await this.lines(), name);
  }

  /** Return the source lines that have output. Raises ProblemAnswered. */
  async sourceTable(): Promise<LineTable> {
    return tableOfSource(await this.lines());
  }

  async hues(): Promise<Map<Place, number>> {
    return huesOf(await this.lines());
  }

  /** Return the passes in order. Raises ProblemAnswered. */
  passes(): Promise<Pass[]> {
    this.allPasses ??= made(`${this.compilation.url}/passes`)
      .then((answer) => answer.json() as Promise<{ passes: Pass[] }>)
      .then((answer) => answer.passes);
    return this.allPasses;
  }

  /** Return the layouts of the TTGIR's types. Raises ProblemAnswered. */
  layouts(): Promise<TypeLayout[]> {
    this.allLayouts ??= made(`${this.compilation.url}/layouts`)
      .then((answer) => answer.json() as Promise<{ layouts: TypeLayout[] }>)
      .then((answer) => answer.layouts);
    return this.allLayouts;
  }

  /** Return what makes the kernel costly, null without a stage that shows it. Raises ProblemAnswered. */
  async explanation(): Promise<Explanation | null> {
    if (!["ttgir", "ptx", "amdgcn"].some((name) => name in this.compilation.artifacts)) return null;
    this.costs ??= made(`${this.compilation.url}/explanation`).then((answer) => answer.json() as Promise<Explanation>);
    return this.costs;
  }

  /** Return the machine instructions, null without machine code. Raises ProblemAnswered. */
  async instructions(): Promise<InstructionCounts | null> {
    const { artifacts } = this.compilation;
    if (!("cubin" in artifacts) && !("amdgcn" in artifacts)) return null;
    this.counts ??= made(`${this.compilation.url}/instructions`).then((answer) => answer.json() as Promise<InstructionCounts>);
    return this.counts;
  }

  /** Return its proof with a contract. Raises ProblemAnswered. */
  proof(contract: string): Promise<Proof> {
    let proof = this.proofs.get(contract);
    if (!proof) {
      proof = proved({ compilation: this.compilation.key, contract });
      proof.catch(() => this.proofs.delete(contract)); // it may be there the next time
      this.proofs.set(contract, proof);
    }
    return proof;
  }

  private lines(): Promise<LinesEntry[]> {
    const hasText = STAGES.some(({ name }) => name in this.compilation.artifacts);
    if (!hasText) return Promise.resolve([]);
    this.entries ??= made(`${this.compilation.url}/lines`)
      .then((answer) => answer.json() as Promise<{ lines: LinesEntry[] }>)
      .then((answer) => answer.lines);
    return this.entries;
  }
}

/** Usual failures in words, before their line. */
const FAILURES: Readonly<Record<string, (name: string, target: string) => string>> = {
  syntax_error: () => "Syntax error",
  compile_error: (name, target) => `${name} does not compile for ${PRODUCTS.get(target)?.split(",")[0] ?? target}`,
};

/** Return the result in words, and the state. */
export function outcomeOf({ compilation, cacheStatus }: Compiled): { text: string; state: string } {
  const line = compilation.problem?.line;
  const name = compilation.kernel ?? "kernel";
  const failure = FAILURES[compilation.problem?.slug ?? ""]?.(name, compilation.target);
  if (failure) return { text: `${failure}${line ? `, line ${line}` : ""}.`, state: compilation.state };
  const ran = compilation.state === "succeeded" ? "compiled in" : "after";
  const took = compilation.timings_ms ? `, ${ran} ${Math.round(compilation.timings_ms.total ?? 0)} ms` : "";
  const why = compilation.problem ? `: ${compilation.problem.title}` : "";
  const kept = cacheStatus.includes("hit") ? ", from the cache" : "";
  return { text: `${name} for ${compilation.target} ${compilation.state}${why}${took}${kept}`, state: compilation.state };
}

/** The progress of a compilation: its last stage, and its place in the queue; null where they are unknown. */
export interface Progress {
  stage: string | null;
  queuePosition: number | null;
}

/** Done once all jobs of aborted compilations are withdrawn. */
let withdrawals: Promise<unknown> = Promise.resolve();

/**
 * Compile; `tell` is called with the progress; `assumed` are the guesses of the request as text. Once `signal` is
 * aborted, the job is withdrawn, so that no worker goes on with it. Raises ProblemAnswered, and DOMException where it
 * was aborted.
 */
export function compile(
  request: RequestText,
  body: RequestBody,
  tell: (progress: Progress) => void,
  signal: AbortSignal,
  assumed: string,
): Promise<Compiled> {
  const earlier = withdrawals;
  const asked = structuredClone(request);
  const compiling = (async () => {
    await earlier; // the withdrawal of an equal request would end this one, too
    signal.throwIfAborted();
    // without the signal: only the answer names the job to withdraw
    const answer = await ask("v1/compilations?wait=0", { method: "POST", body: JSON.stringify(body) });
    const status = answer.headers.get("Cache-Status") ?? "";
    let compilation = (await answer.json()) as Compilation;
    try {
      while (isUnfinished(compilation)) {
        signal.throwIfAborted();
        tell({ stage: null, queuePosition: compilation.queue_position });
        await follow(compilation.url, tell, signal);
        compilation = (await (await ask(`${compilation.url}?wait=30`, { signal })).json()) as Compilation;
      }
      signal.throwIfAborted();
    } catch (error) {
      if (signal.aborted && isUnfinished(compilation)) await withdraw(compilation.url);
      throw error;
    }
    return new Compiled(asked, body, compilation, status, assumed);
  })();
  signal.addEventListener("abort", () => (withdrawals = Promise.allSettled([withdrawals, compiling])), { once: true });
  return compiling;
}

/** Withdraw from a job. Where that fails, the job only goes on to its end. */
async function withdraw(url: string): Promise<void> {
  await ask(url, { method: "DELETE" }).catch((error: unknown) => console.info("not withdrawn", error));
}

function isUnfinished({ state }: Compilation): boolean {
  return state === "queued" || state === "running";
}

/** Tell the stages of a job until it is finished, and its place in the queue while it waits. */
async function follow(url: string, tell: (progress: Progress) => void, signal: AbortSignal): Promise<void> {
  let isStarted = false;
  const look = setInterval(() => {
    if (isStarted) return clearInterval(look);
    void ask(url, { signal })
      .then((answer) => answer.json() as Promise<Compilation>)
      .then(({ queue_position }) => isStarted || tell({ stage: null, queuePosition: queue_position }))
      .catch(() => clearInterval(look)); // the request that waits reports what is wrong
  }, 1000);
  try {
    for await (const { kind, data } of events(`${url}/events`, signal)) {
      if (kind === "started" || kind === "stage") isStarted = true;
      if (kind === "stage") tell({ stage: (data as { stage: string }).stage, queuePosition: null });
      if (kind === "finished") return;
    }
  } finally {
    clearInterval(look);
  }
}
