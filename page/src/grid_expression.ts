// The size of a grid: evaluates its expressions as the service does.

const TOKEN = /\s*(\d+|[A-Za-z_]\w*|\/\/|[-+*%(),])/y;
const FUNCTIONS: Record<string, (...given: number[]) => number> = {
  cdiv: (a = NaN, b = NaN) => Math.ceil(a / b),
  min: Math.min,
  max: Math.max,
  next_power_of_2: (a = NaN) => 2 ** Math.ceil(Math.log2(Math.max(a, 1))),
};
const OPERATORS: readonly Record<string, (a: number, b: number) => number>[] = [
  { "+": (a, b) => a + b, "-": (a, b) => a - b },
  { "*": (a, b) => a * b, "//": (a, b) => Math.floor(a / b), "%": (a, b) => a - b * Math.floor(a / b) },
];

/** Return the three extents of a grid; null if an expression is invalid. */
export function extentsOf(grid: readonly (number | string)[], names: Readonly<Record<string, unknown>>): number[] | null {
  const extents = grid.map((each) => (typeof each === "number" ? each : valueOf(each, { NUM_SMS: 1, ...names })));
  while (extents.length < 3) extents.push(1);
  return extents.every((extent) => Number.isInteger(extent) && extent > 0) ? extents : null;
}

function valueOf(text: string, names: Readonly<Record<string, unknown>>): number {
  const tokens = tokensOf(text);
  let next = 0;
  const level = (depth: number): number => {
    const operators = OPERATORS[depth];
    if (!operators) return factor();
    let value = level(depth + 1);
    for (let act = operators[tokens[next] ?? ""]; act; act = operators[tokens[next] ?? ""]) {
      next += 1;
      value = act(value, level(depth + 1));
    }
    return value;
  };
  const factor = (): number => {
    const token = tokens[next++] ?? "";
    if (/^\d/.test(token)) return Number(token);
    if (token === "-") return -factor();
    if (token === "(") {
      const value = level(0);
      return tokens[next++] === ")" ? value : NaN;
    }
    if (tokens[next] !== "(") return Object.hasOwn(names, token) ? Number(names[token]) : NaN;
    const given: number[] = [];
    do {
      next += 1;
      given.push(level(0));
    } while (tokens[next] === ",");
    next += 1;
    return Object.hasOwn(FUNCTIONS, token) ? FUNCTIONS[token]!(...given) : NaN;
  };
  const value = level(0);
  return next === tokens.length ? value : NaN;
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  const pattern = new RegExp(TOKEN);
  const source = text.slice(0, 1000).trimEnd();
  while (pattern.lastIndex < source.length) {
    const found = pattern.exec(source);
    if (!found) return ["?"];
    tokens.push(found[1]!);
  }
  return tokens;
}
