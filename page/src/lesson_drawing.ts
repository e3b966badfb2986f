// Draws a lesson's picture from a small description, in the colours of the page's theme.

/** A picture: rows of arrays, with words such as operators between them. */
export interface Drawing {
  /** The picture in words. */
  says: string;
  rows: readonly (readonly (DrawnArray | string)[])[];
}

/**
 * An array of cells, one string a row and one character a cell: a digit is the colour of a program
 * or step, `.` an untouched cell, `m` a masked one, `x` a wrong one.
 */
interface DrawnArray {
  name: string;
  cells: readonly string[];
  /** The texts of the cells, one string a row, separated by spaces. */
  values?: readonly string[];
  /** A line below the array. */
  note?: string;
}

const CELL = 17;
const CELL_WITH_VALUE = 25;
const CHARACTER = 6.7;
const LINE = 17;
const GAP = 10;
/** Cells are this much smaller than their places. */
const BETWEEN = 2;

/** Return the picture as an SVG element that scales down where there is little room. */
export function drawn({ says, rows }: Drawing): SVGSVGElement {
  const parts: SVGElement[] = [];
  let [width, y] = [0, 0];
  for (const row of rows) {
    const height = Math.max(...row.map(heightOf));
    const under = row.some((part) => typeof part !== "string" && part.note) ? LINE : 0;
    const above = row.some((part) => typeof part !== "string" && part.name) ? LINE : 0;
    let x = 0;
    for (const part of row) {
      if (typeof part === "string") parts.push(text(part, x, y + above + height / 2 + 4, "between"));
      else parts.push(...arrayAt(part, x, y + above, height));
      x += widthOf(part) + GAP;
    }
    width = Math.max(width, x - GAP);
    y += above + height + under + GAP;
  }
  const picture = svg("svg", { viewBox: `0 0 ${Math.ceil(width)} ${y - GAP + 2}`, width: Math.ceil(width), class: "drawing", role: "img", "aria-label": says });
  picture.append(...parts);
  return picture as SVGSVGElement;
}

function arrayAt({ name, cells, values, note }: DrawnArray, x: number, top: number, height: number): SVGElement[] {
  const [across, down] = [sideOf(values), CELL];
  const first = top + (height - cells.length * down) / 2;
  const drawnCells = cells.flatMap((row, j) => {
    const texts = values?.[j]?.split(" ") ?? [];
    return [...row].flatMap((kind, i) => {
      const place = { x: x + i * across, y: first + j * down, width: across - BETWEEN, height: down - BETWEEN, rx: 2, class: `cell ${classOf(kind)}` };
      const value = texts[i];
      return [svg("rect", place), ...(value ? [text(value, place.x + place.width / 2, place.y + 11.5, "value")] : [])];
    });
  });
  const below = first + cells.length * down + 11;
  return [...drawnCells, ...(name ? [text(name, x, first - 5, "name")] : []), ...(note ? [text(note, x, below, "note")] : [])];
}

function classOf(kind: string): string {
  return { ".": "untouched", m: "masked", x: "wrong" }[kind] ?? `program-${kind}`;
}

function sideOf(values: readonly string[] | undefined): number {
  return values ? CELL_WITH_VALUE : CELL;
}

function widthOf(part: DrawnArray | string): number {
  if (typeof part === "string") return part.length * CHARACTER;
  const cells = Math.max(...part.cells.map((row) => row.length)) * sideOf(part.values);
  return Math.max(cells, Math.max(part.name.length, part.note?.length ?? 0) * CHARACTER);
}

function heightOf(part: DrawnArray | string): number {
  return typeof part === "string" ? LINE : part.cells.length * CELL;
}

function text(words: string, x: number, y: number, kind: string): SVGElement {
  const made = svg("text", { x, y, class: kind });
  made.textContent = words;
  return made;
}

function svg(tag: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}
