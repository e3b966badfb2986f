// The part of the service's answers that the page reads. See /docs for each field.

export interface Diagnostic {
  severity: "error" | "warning" | "note";
  stage: string;
  message: string;
  hint: string | null;
  file: string | null;
  line: number | null;
  column: number | null;
  end_line: number | null;
  end_column: number | null;
  excerpt: string | null;
}

/** An error of a field of a request, which a JSON pointer names. */
export interface FieldError {
  pointer: string;
  message: string;
}

export interface Problem {
  slug: string;
  title: string;
  detail: string;
  status?: number;
  line?: number | null;
  errors?: FieldError[] | null;
}

export interface Compilation {
  key: string;
  url: string;
  state: "queued" | "running" | "succeeded" | "failed" | "cancelled";
  queue_position: number | null;
  kernel: string | null;
  target: string;
  toolchain: { triton: string; ptxas: string };
  artifacts: Record<string, { size_bytes: number; url: string }>;
  resources: Record<string, unknown> | null;
  metadata: Record<string, unknown> | null;
  timings_ms: Record<string, number> | null;
  diagnostics: Diagnostic[];
  assumptions: { file: string; line: number; message: string }[];
  stdout: string;
  /** The modules without which it failed, or was made with assumptions, by their dotted names. */
  needs?: string[];
  problem: Problem | null;
}

export interface OptionSpec {
  type: "int" | "bool" | "str" | "float";
  default: number | boolean | string | null;
  minimum: number | null;
  maximum: number | null;
  choices: (number | string)[] | null;
}

/** Return a text of the service in the page's words, which has forms where a request has members. */
export function inPageWords(text: string): string {
  const forms = text.replace(/\bPost its file in `files` as/g, "Add its file as");
  return forms.replace(/\b(in|to)( the request's)? `(signature|constexprs|options|arguments|files)`/g, (_, word: string, __, member: string) => `${word} ${member[0]!.toUpperCase()}${member.slice(1)}`);
}

export interface Toolchain {
  id: string;
  triton: string;
  ptxas: string;
  targets: string[];
  options: Record<string, Record<string, OptionSpec>>;
  default: boolean;
}

export interface Parameter {
  name: string;
  annotation: string | null;
  constexpr: boolean;
  default: { literal?: unknown; expression?: string } | null;
  proposal: Proposal | null;
}

/** The type that the use of a parameter implies, or `constexpr` with values to try. */
export interface Proposal {
  type: string;
  hints: string[];
  values: unknown[];
  line: number;
  reason: string;
  confidence: "high" | "medium" | "low";
  /** True for what a launch of the source passes. */
  passed: boolean;
}

/** A `triton.Config`: values where they are literals, else expressions; or the code that makes some. */
export interface KernelConfig {
  expression?: string;
  constexprs?: Record<string, { literal?: unknown; expression?: string }>;
  options?: Record<string, { literal?: unknown; expression?: string }>;
}

export interface Kernel {
  name: string;
  line: number;
  parameters: Parameter[];
  configs: KernelConfig[];
  calls: string[];
  /** True if the text launches it. */
  launched: boolean;
  /** True for a helper: it is compiled with a kernel that calls it. */
  returns?: boolean;
  /** Its first launch when the source runs as a script; null if it gets to none. */
  launch: { line: number; options: Record<string, number>; shapes?: Record<string, number[]>; scalars?: Record<string, number | boolean>; grid?: number[] | null } | null;
  /** An expression for each axis of its grid, as its masks imply it; "" where nothing bounds it. Services before it have none. */
  grid?: string[];
  warnings: string[];
}

export interface Inspection {
  state: "queued" | "running" | "succeeded" | "failed";
  kernels: Kernel[];
  /** Kernels that are written for helpers, of a source that has nothing else. */
  written?: Kernel[];
  /** The result of executing the decorators of one kernel gave; only if a target was named. */
  autotune: { kernel: string; configs: { values: Record<string, unknown>; options: Record<string, unknown> }[] } | null;
  diagnostics: Diagnostic[];
  problem: Problem | null;
}

export type LinesEntry = { file: string; line: number } & Record<string, number[] | string | number>;

export interface Pass {
  stage: string;
  name: string;
  changed: boolean;
  before: string | null;
  after: string | null;
}

/** A cost of a kernel, in words, at the source line that has it. */
export interface Finding {
  file: string | null;
  line: number | null;
  message: string;
}

export interface Explanation {
  matrix_products: Finding[];
  tma: { message: string | null };
  not_vectorised: Finding[];
  uncoalesced: Finding[];
  layout_conversions: Finding[];
}

export interface LanguageName {
  name: string;
  signature: string | null;
  summary: string;
}
