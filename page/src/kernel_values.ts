// The values of kernels in the forms: as typed for each, or as its source proposes.

import type { RequestText } from "./page_state";
import { firstText, isConstexpr, pythonText } from "./request";
import type { Kernel, KernelConfig } from "./wire";

export type Values = Pick<RequestText, "signature" | "constexprs" | "options">;

/** Remembers what was typed for each kernel: values are of a kernel, and never of a parameter's name alone. */
export class KernelValues {
  private readonly known = new Map<string, Values>();

  /** Remember the values of a kernel. */
  keep(kernel: Kernel, values: Values): void {
    this.known.set(identityOf(kernel), structuredClone({ signature: values.signature, constexprs: values.constexprs, options: values.options }));
  }

  /** Return the values that were typed for a kernel, otherwise those that its source proposes. */
  of(kernel: Kernel): Values {
    return structuredClone(this.known.get(identityOf(kernel))) ?? proposed(kernel);
  }

  /** Return the values of a kernel that replaces one with the same head: what was typed stays, what was proposed does not. */
  ofNext(kernel: Kernel, before: Kernel, values: Values): Values {
    const known = this.known.get(identityOf(kernel));
    if (known) return structuredClone(known);
    const [now, was] = [proposed(kernel), proposed(before)];
    const typed = (part: keyof Values): Record<string, string> => ({ ...now[part], ...Object.fromEntries(Object.entries(values[part]).filter(([name, text]) => was[part][name] !== text)) });
    return { signature: typed("signature"), constexprs: typed("constexprs"), options: typed("options") };
  }
}

/** Return the kernel that a request without a name means: the only one that no other calls, or the first that is launched. */
export function chosenOf(kernels: readonly Kernel[], name: string | null): Kernel | null {
  const entries = entriesOf(kernels);
  return kernels.find((kernel) => kernel.name === name) ?? (entries.length === 1 ? entries[0]! : null);
}

/** Return the jit functions without callers: first what the source launches, last what has no pointer or returns a value, such as an unused helper. */
export function entriesOf(kernels: readonly Kernel[]): Kernel[] {
  const called = new Set(kernels.flatMap((kernel) => kernel.calls));
  const entries = kernels.filter((kernel) => !called.has(kernel.name));
  const rank = ({ launched, returns, parameters }: Kernel): number => (launched ? 0 : returns ? 3 : parameters.some(({ proposal }) => proposal?.type.startsWith("*")) ? 1 : 2);
  return entries.length ? entries.sort((one, other) => rank(one) - rank(other)) : [...kernels];
}

/** Return true if two kernels have the same name and parameters. */
export function hasSameHead(one: Kernel, other: Kernel): boolean {
  const head = ({ name, parameters }: Kernel): string => JSON.stringify([name, parameters.map((each) => [each.name, isConstexpr(each)])]);
  return head(one) === head(other);
}

/** Two kernels are the same if all that an inspection says of them is: names alone are too common. */
function identityOf(kernel: Kernel): string {
  return JSON.stringify(kernel);
}

function proposed(kernel: Kernel): Values {
  return { ...following(kernel, { signature: {}, constexprs: {} }), options: kernel.launch ? numbersAsText(kernel.launch.options) : optionsOf(kernel.configs[0]) };
}

function numbersAsText(options: Readonly<Record<string, number>>): Record<string, string> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, String(value)]));
}

/** Return the values of an edited kernel: those that were there, and proposals for new parameters. */
export function following(kernel: Kernel, before: Omit<Values, "options">): Omit<Values, "options"> {
  const [signature, constexprs]: Record<string, string>[] = [{}, {}];
  for (const parameter of kernel.parameters) {
    const { name } = parameter;
    const constexpr = isConstexpr(parameter);
    const typed = before.signature[name] ?? before.constexprs[name];
    const isMoved = constexpr !== name in before.constexprs;
    const text = typed === undefined || isMoved ? firstText(parameter, kernel) : typed;
    (constexpr ? constexprs! : signature!)[name] = text;
  }
  return { signature: signature!, constexprs: constexprs! };
}

/** Return the options of a configuration, as typed. */
export function optionsOf(config: KernelConfig | undefined): Record<string, string> {
  return textsOf(config?.options ?? {});
}

/** Return the constexprs of a configuration, as typed. */
export function constexprsOf(config: KernelConfig | undefined): Record<string, string> {
  return textsOf(config?.constexprs ?? {});
}

/** Return a configuration in one line: `BLOCK=64 G=8 w4 s3`. */
export function shortOf(config: KernelConfig): string {
  const options = Object.entries(optionsOf(config)).map(([name, text]) => (SHORT[name] ? `${SHORT[name]}${text}` : `${name}=${text}`));
  return [...Object.entries(constexprsOf(config)).map(([name, text]) => `${name}=${text}`), ...options].join(" ");
}

/** Usual options in a short line. */
export const SHORT: Readonly<Record<string, string>> = { num_warps: "w", num_stages: "s", num_ctas: "c" };

function textsOf(values: NonNullable<KernelConfig["constexprs"]>): Record<string, string> {
  const known = Object.entries(values).filter(([, value]) => value.literal !== undefined && value.literal !== null);
  return Object.fromEntries(known.map(([name, { literal }]) => [name, pythonText(literal)]));
}
