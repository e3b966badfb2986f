// Turns the forms into the body of POST /v1/compilations, and into commands and programs.

import type { RequestText } from "./page_state";
import type { Kernel, OptionSpec, Parameter } from "./wire";

const JSON_OF_PYTHON: Record<string, unknown> = { None: null, True: true, False: false };
const DTYPE = /^tl\.(\w+)$/;
const WHOLE = /^[+-]?\d+$/;
const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** A request's body: JSON values by the API's names. */
export type RequestBody = Record<string, unknown>;

/** Return the body for the forms; `functions` are the jit functions of the source. */
export function bodyOf(request: RequestText, functions: readonly string[] = []): RequestBody {
  const body: RequestBody = { target: request.target.trim() };
  if (request.language === "python") {
    body.source = request.source;
    Object.assign(body, filesOf(request));
    if (request.kernel) body.kernel = request.kernel;
    body.signature = typed(request.signature);
    body.constexprs = Object.fromEntries(
      Object.entries(typed(request.constexprs)).map(([name, text]) => [name, constexprOf(text, functions)]),
    );
  } else body.ir = { language: request.language, text: request.source };
  body.options = Object.fromEntries(
    Object.entries(typed(request.options)).map(([name, text]) => [name, constexprOf(text, [])]),
  );
  if (request.triton) body.triton = request.triton;
  return body;
}

/** Return the member `files` of a body; none without a file. A file without text waits for it. */
export function filesOf({ files }: RequestText): { files?: Record<string, string> } {
  const texts = Object.entries(files ?? {}).filter(([, text]) => text.trim());
  return texts.length ? { files: Object.fromEntries(texts) } : {};
}

function typed(texts: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, text.trim()] as const).filter(([, text]) => text !== ""),
  );
}

/** Return the value of a text: Python's, JSON's, or a string. */
export function constexprOf(text: string, functions: readonly string[]): unknown {
  if (text in JSON_OF_PYTHON) return JSON_OF_PYTHON[text];
  const dtype = DTYPE.exec(text);
  if (dtype) return { dtype: dtype[1] };
  if (functions.includes(text)) return { function: text };
  if (WHOLE.test(text) && (BigInt(text) > SAFE || BigInt(text) < -SAFE)) return { int: text };
  // JSON.parse turns 2.0 into an int, which is another constexpr
  if (/^[+-]?\d+\.0*$/.test(text)) return { float: Number(text) };
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const quoted = /^'([^'\\]*)'$/.exec(text);
    return quoted ? quoted[1] : text;
  }
}

/** Return true if the form asks for a compile-time value of the parameter. */
export function isConstexpr({ constexpr, proposal }: Parameter): boolean {
  return constexpr || proposal?.type === "constexpr";
}

/** Return the form's initial text for a parameter: of a launch, its configuration or default, else as its use implies. */
export function firstText(parameter: Parameter, kernel: Kernel): string {
  const { name, proposal } = parameter;
  if (!isConstexpr(parameter)) return proposal ? `${proposal.type}${suffixOf(proposal.hints)}` : "";
  if (proposal?.passed && proposal.values.length) return pythonText(proposal.values[0]);
  const known = kernel.configs[0]?.constexprs?.[name]?.literal ?? parameter.default?.literal ?? proposal?.values[0];
  return known === undefined ? "" : pythonText(known);
}

/** Return the suffix that says the same as a hint behind a type. */
function suffixOf(hints: readonly string[]): string {
  return hints.includes("equal_to_1") ? ":1" : hints.includes("divisible_by_16") ? ":16" : "";
}

/** Return a value of the API as a user would type it. */
export function pythonText(value: unknown): string {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    const [[kind, written] = ["", ""]] = Object.entries(value);
    return kind === "dtype" ? `tl.${String(written)}` : kind === "float" && Number.isInteger(written) ? `${String(written)}.0` : String(written);
  }
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "string") return JSON.stringify(value);
  // a text that would be read as something else, such as "" or "None", keeps its quotes
  return value && value === value.trim() && constexprOf(value, []) === value ? value : JSON.stringify(value);
}

/** Return the backend of a target, which determines the options. */
export function backendOf(target: string): string {
  return target.split(":")[0] ?? "";
}

/** Return the choices of an option as texts; the first one is the default. */
export function choicesOf(spec: OptionSpec): string[] | null {
  if (spec.type === "bool") return ["True", "False"];
  return spec.choices ? spec.choices.map(String) : null;
}

/** The body as a shell command with curl. */
export function asCurl(body: RequestBody, base: string): string {
  const json = JSON.stringify(body, null, 1).replaceAll("'", "'\\''");
  return `curl -s '${base}v1/compilations?wait=30' -H 'Content-Type: application/json' \\\n  -d '${json}'\n`;
}

/** The body as a tritonc command, with the source in a file. */
export function asCommand(body: RequestBody, base: string): string {
  const { source, ir, files = {}, signature, constexprs, options, target, kernel, triton } = body as {
    source?: string; files?: Record<string, string>; ir?: { language: string; text: string }; signature?: Record<string, string>;
    constexprs?: Record<string, unknown>; options?: Record<string, unknown>; target: string; kernel?: string; triton?: string;
  };
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const pairs = (flag: string, values: Record<string, unknown> = {}): string[] => {
    const words = Object.entries(values).map(([name, value]) => quoted(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`));
    return words.length ? [[flag, ...words].join(" ")] : [];
  };
  const file = ir ? `kernel.${ir.language}` : "kernel.py";
  const words = [
    `TRITOND_URL=${base.replace(/\/$/, "")} tritonc compile ${file} --target ${quoted(target)}`,
    ...(kernel ? [`--kernel ${quoted(kernel)}`] : []),
    ...pairs("--signature", signature),
    ...pairs("--constexpr", constexprs),
    ...pairs("--option", options),
    ...(triton ? [`--triton ${quoted(triton)}`] : []),
  ];
  const paths = Object.keys(files);
  if (paths.length) words.push(["--file", ...paths.map((path) => quoted(`${path}=${path}`))].join(" "));
  const writes = [...Object.entries(files), [file, ir?.text ?? source ?? ""] as const].map(([path, text]) => {
    let end = "KERNEL";
    while (text.includes(end)) end += "_";
    const folder = path.includes("/") ? `mkdir -p ${quoted(path.slice(0, path.lastIndexOf("/")))} && ` : "";
    return `${folder}cat > ${path === file ? file : quoted(path)} <<'${end}'\n${text}${text.endsWith("\n") ? "" : "\n"}${end}\n`;
  });
  return `${writes.join("")}${words.join(" \\\n  ")}\n`;
}

/** The body as a Python program. */
export function asPython(body: RequestBody, base: string): string {
  const json = JSON.stringify(JSON.stringify(body));
  return (
    `import json\n\nimport httpx\n\nbody = json.loads(\n    ${json}\n)\n` +
    `answer = httpx.post("${base}v1/compilations", params={"wait": 30}, json=body, timeout=60)\n` +
    `print(json.dumps(answer.json(), indent=1))\n`
  );
}
