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

export interface Problem {
  slug: string;
  title: string;
  detail: string;
  status?: number;
  errors?: { pointer: string; message: string }[] | null;
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
  problem: Problem | null;
}

export interface OptionSpec {
  type: "int" | "bool" | "str" | "float";
  default: number | boolean | string | null;
  minimum: number | null;
  maximum: number | null;
  choices: (number | string)[] | null;
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
}

export interface Kernel {
  name: string;
  line: number;
  parameters: Parameter[];
  configs: Record<string, unknown>[];
  calls: string[];
  blanked: [number, number][];
}

export interface Inspection {
  state: "queued" | "running" | "succeeded" | "failed";
  kernels: Kernel[];
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

export interface LanguageName {
  name: string;
  signature: string | null;
  summary: string;
}
