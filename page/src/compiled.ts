// A finished compilation; fetches artifacts, lines and passes once each.

import { ask, made, post } from "./api";
import { huesOf, tableOf, tableOfMlir, tableOfNumpy, tableOfSource, type LineTable, type Place } from "./line_links";
import type { RequestText } from "./page_state";
import type { RequestBody } from "./request";
import { BY_NAME, STAGES } from "./stages";
import type { Compilation, LinesEntry, Pass } from "./wire";

export class Compiled {
  private readonly texts = new Map<string, Promise<string>>();
  private entries: Promise<LinesEntry[]> | null = null;
  private allPasses: Promise<Pass[]> | null = null;

  constructor(
    readonly request: RequestText,
    readonly body: RequestBody,
    readonly compilation: Compilation,
    readonly cacheStatus: string,
  ) {}

  /** True if the compilation has the text `name`. */
  has(name: string): boolean {
    const { artifacts } = this.compilation;
    const stage = BY_NAME.get(name);
    if (!stage) return false;
    return stage.derivedFrom.length ? stage.derivedFrom.some((from) => from in artifacts) : name in artifacts;
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

  private lines(): Promise<LinesEntry[]> {
    const hasText = STAGES.some(({ name }) => name in this.compilation.artifacts);
    if (!hasText) return Promise.resolve([]);
    this.entries ??= made(`${this.compilation.url}/lines`)
      .then((answer) => answer.json() as Promise<{ lines: LinesEntry[] }>)
      .then((answer) => answer.lines);
    return this.entries;
  }
}

/** Return the result in words, and the state. */
export function outcomeOf({ compilation, cacheStatus }: Compiled): { text: string; state: string } {
  const took = compilation.timings_ms ? `, compiled in ${Math.round(compilation.timings_ms.total ?? 0)} ms` : "";
  const why = compilation.problem ? `: ${compilation.problem.title}` : "";
  const name = compilation.kernel ?? "kernel";
  const kept = cacheStatus.includes("hit") ? ", from the cache" : "";
  return { text: `${name} for ${compilation.target} ${compilation.state}${why}${took}${kept}`, state: compilation.state };
}

/** Compile; `tell` is called with the progress. Raises ProblemAnswered. */
export async function compile(
  request: RequestText,
  body: RequestBody,
  tell: (text: string) => void,
  signal: AbortSignal,
): Promise<Compiled> {
  const answer = await post("v1/compilations", body, signal);
  const status = answer.headers.get("Cache-Status") ?? "";
  let compilation = (await answer.json()) as Compilation;
  while (compilation.state === "queued" || compilation.state === "running") {
    tell(compilation.queue_position ? `Queued, ${compilation.queue_position} in line` : "Running …");
    compilation = (await (await ask(`${compilation.url}?wait=30`, { signal })).json()) as Compilation;
  }
  return new Compiled(structuredClone(request), body, compilation, status);
}
