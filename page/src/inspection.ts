// Asks the service what stands in a source, and what it compiles for.

import { ask, post } from "./api";
import type { RequestText } from "./page_state";
import { filesOf, type RequestBody } from "./request";
import type { Inspection, Toolchain } from "./wire";

/** Return the toolchains of the deployment. Raises ProblemAnswered. */
export async function toolchainsOffered(): Promise<Toolchain[]> {
  return ((await (await ask("v1/targets")).json()) as { toolchains: Toolchain[] }).toolchains;
}

/** Return the kernels of a source, undefined if that is not Python. Raises ProblemAnswered. */
export function inspectionOf(request: RequestText): Promise<Inspection> | undefined {
  const { language, source } = request;
  return language === "python" && source.trim() ? inspected({ source, ...filesOf(request) }) : undefined;
}

/** Return an inspection with the configurations that code makes: it runs in the sandbox. Raises ProblemAnswered. */
export async function withConfigs(inspection: Inspection, request: RequestText): Promise<Inspection> {
  const { source, target, triton } = request;
  const kernel = inspection.kernels.find(({ configs }) => configs.some(({ expression }) => expression))?.name;
  if (!kernel) return inspection;
  const { autotune } = await inspected({ source, ...filesOf(request), kernel, target, ...(triton ? { triton } : {}) });
  return { ...inspection, autotune };
}

async function inspected(body: RequestBody): Promise<Inspection> {
  return (await (await post("v1/inspect", body)).json()) as Inspection;
}
