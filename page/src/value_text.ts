// Numbers of a run as texts: whole, or so brief that they fit into a drawn cell.

/** Characters that fit into a cell. */
const MOST = 4;

/** Return a value in at most four characters, rounded. */
export function brief(value: unknown): string {
  if (typeof value === "boolean") return value ? "T" : "F";
  const number = Number(value);
  if (Number.isNaN(number)) return "nan";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  const whole = String(number);
  if (whole.length <= MOST) return whole;
  for (const digits of [2, 1, 0]) {
    const text = number.toFixed(digits);
    if (text.length <= MOST && (Number(text) !== 0 || digits === 2)) return text;
  }
  return number.toExponential(0).replace("e+", "e");
}

/** Return a value as text; for a pointer, its target. */
export function written(value: unknown): string {
  if (value === null || typeof value !== "object") return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
  const { argument, index } = value as { argument: string; index: number[] };
  return `${argument}[${index.join(", ")}]`;
}
