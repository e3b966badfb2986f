// TTGIR layouts drawn under the pointer: which lane, register and warp holds each element.

import type { Compiled } from "./compiled";
import { element } from "./dom";
import type { Tell, Told } from "./hover_texts";
import { ElementHolders, type TypeLayout } from "./layouts";

const MOST_ROWS = 32;
const MOST_COLUMNS = 64;
const WIDTH_PX = 544;
const HEIGHT_PX = 256;
const BANKS = 32;
const BANK_BYTES = 4;
const COLUMN_BYTES = 4; // of tensor memory
const TYPE = /!tt\.tensordesc<|!ttg\.memdesc<|\btensor</g;
const DEFINITION = /^(#\w+) = #[\w.]+</; // not of a kind of memory, which has no layout

/** Return the source of drawings for the types of a compilation's TTGIR, and of the layouts that it defines. */
export function layoutTell(compilation: () => Compiled | null): Tell {
  return async (line, column) => {
    const compiled = compilation();
    const part = DEFINITION.test(line) ? { from: 0, to: line.length } : typeAt(line, column);
    if (!part || !compiled) return null;
    const layouts = await compiled.layouts();
    const alias = DEFINITION.exec(line)?.[1];
    const found = alias ? largestOf(layouts, alias) : layouts.find(({ type }) => type === line.slice(part.from, part.to));
    return found ? { ...part, ...drawing(found, compiled.compilation.target) } : null;
  };
}

/** Return the place of the type that has this column. */
function typeAt(line: string, column: number): { from: number; to: number } | null {
  for (const { index, 0: head } of line.matchAll(TYPE)) {
    const to = endOf(line, index + head.length);
    if (index <= column && column < to) return { from: index, to };
  }
  return null;
}

/** Return the place behind the bracket that closes the one before `start`. */
function endOf(line: string, start: number): number {
  let depth = 1;
  for (const found of line.slice(start).matchAll(/->|[<>]/g)) {
    depth += found[0] === "<" ? 1 : found[0] === ">" ? -1 : 0;
    if (!depth) return start + found.index + 1;
  }
  return line.length;
}

/** Return the type with most elements that has the layout itself, not a slice or operand of it; one that can be drawn if there is any. */
function largestOf(layouts: readonly TypeLayout[], alias: string): TypeLayout | undefined {
  const size = ({ shape }: TypeLayout): number => shape.reduce((product, extent) => product * extent, 1);
  const own = layouts.filter(({ type }) => type.includes(`, ${alias}>`) || type.includes(`, ${alias},`));
  return own.sort((a, b) => Number(b.bases !== null) - Number(a.bases !== null) || size(b) - size(a))[0];
}

function drawing(layout: TypeLayout, target: string): Pick<Told, "said" | "draw"> {
  const { bases, problem, type } = layout;
  if (!bases) return { said: problem ?? type, draw: () => element("div", { className: "described" }, element("code", {}, type), element("p", {}, problem)) };
  const holders = new ElementHolders(bases, layout.shape);
  const words = (number: number): string => `[${holders.indexOf(number).join(", ")}]: ${wordsOf(layout, holders, number, target)}`;
  return { said: `${type}. ${words(0)}`, draw: () => new LayoutPicture(layout, holders, words).element };
}

function wordsOf({ kind, type }: TypeLayout, holders: ElementHolders, number: number, target: string): string {
  const { block = 0, ...held } = holders.of(number);
  const isOfCluster = block > 0 || (holders.count(number) > 1 && kind === "shared");
  const inBlock = isOfCluster ? `, block ${block}` : "";
  if (kind === "tensor_memory") return `row ${held.row}, column ${columnOf(held.column!, type)}`;
  if (kind === "shared") {
    const at_bytes = held.offset! * bytesOf(type);
    return `byte ${at_bytes}${target.startsWith("cuda") ? `, bank ${Math.floor(at_bytes / BANK_BYTES) % BANKS}` : ""}${inBlock}`;
  }
  const others = holders.count(number) - 1;
  return `lane ${held.lane}, register ${held.register}, warp ${held.warp}${block ? inBlock : ""}${others ? ` and ${others} more` : ""}`;
}

/** Return the 32-bit column of tensor memory that has a column of elements. */
function columnOf(column: number, type: string): number {
  return Math.floor((column * bytesOf(type)) / COLUMN_BYTES);
}

/** Return the size of an element of memory; smaller ones than a byte are packed, and count as one. */
function bytesOf(type: string): number {
  const bits = /<(?:\d+x)*[a-z]+?(\d+)/.exec(type)?.[1];
  return Math.max(1, Number(bits ?? 8) / 8);
}

/** The elements of a tensor in the colours of their lanes; those that one thread holds are bright. */
class LayoutPicture {
  readonly element: HTMLElement;
  private readonly canvas = element("canvas", { className: "array", role: "img", tabIndex: 0 });
  private readonly said = element("p", { className: "told", role: "status" });
  private readonly rows: number;
  private readonly columns: number;
  private readonly across: number;
  private readonly cell_px: number;
  /** The number of colours. */
  private readonly groups: number;
  private marked = 0;

  constructor(
    private readonly layout: TypeLayout,
    private readonly holders: ElementHolders,
    private readonly words: (number: number) => string,
  ) {
    const { shape, type, bases, kind } = layout;
    const bits = (bases?.[kind === "distributed" ? "lane" : "column"] ?? []).length;
    this.groups = kind === "shared" ? BANKS : kind === "distributed" ? 1 << bits : columnOf((1 << bits) - 1, type) + 1;
    const size = shape.reduce((product, extent) => product * extent, 1);
    // a vector is drawn in rows; of more than two dimensions, the first matrix
    this.across = shape.length > 1 ? shape.at(-1)! : Math.min(size, MOST_COLUMNS);
    const down = shape.length > 1 ? shape.at(-2)! : size / this.across;
    [this.rows, this.columns] = [Math.min(down, MOST_ROWS), Math.min(this.across, MOST_COLUMNS)];
    this.cell_px = Math.max(4, Math.min(18, Math.floor(WIDTH_PX / this.columns), Math.floor(HEIGHT_PX / this.rows)));
    [this.canvas.width, this.canvas.height] = [this.columns * this.cell_px, this.rows * this.cell_px];
    this.canvas.setAttribute("aria-label", `Elements of ${type}`);
    this.canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => this.mark(Math.floor(offsetY / this.cell_px), Math.floor(offsetX / this.cell_px)));
    this.canvas.addEventListener("keydown", (event) => this.move(event));
    const isCut = this.rows * this.columns < size;
    const cut = isCut ? element("p", { className: "faint" }, `The first ${this.rows} × ${this.columns} of ${shape.join(" × ")} elements.`) : null;
    const what = { distributed: "Each colour is a lane. Bright elements are held by the same thread.", shared: "Each colour is a bank. Bright elements share it.", tensor_memory: "Colours are columns of 32 bits." }[layout.kind!];
    this.element = element("div", { className: "described layout" }, element("code", {}, type), this.canvas, this.said, element("p", { className: "faint" }, what), cut);
    this.mark(0, 0);
  }

  private mark(row: number, column: number): void {
    if (row < 0 || column < 0 || row >= this.rows || column >= this.columns) return;
    this.marked = row * this.across + column;
    this.said.textContent = this.words(this.marked);
    // the colours of the theme are known once it is in the page
    requestAnimationFrame(() => this.paint());
  }

  private move(event: KeyboardEvent): void {
    const by = ({ ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] } as Record<string, [number, number]>)[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    this.mark(Math.floor(this.marked / this.across) + by[0], (this.marked % this.across) + by[1]);
  }

  private paint(): void {
    const painter = this.canvas.getContext("2d");
    if (!painter) return;
    const { color, backgroundColor } = getComputedStyle(this.element);
    const isDark = lightnessOf(color) > 0.5;
    painter.fillStyle = backgroundColor;
    painter.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const held = this.holders.besides(this.marked, "register");
    const chosen = this.groupOf(this.marked);
    for (let row = 0; row < this.rows; row += 1) {
      for (let column = 0; column < this.columns; column += 1) {
        const number = row * this.across + column;
        const group = this.groupOf(number);
        const isBright = this.layout.kind === "distributed" ? held.has(number) : group === chosen;
        const hue = (360 * group) / this.groups;
        painter.fillStyle = isBright ? `hsl(${hue} 75% ${isDark ? 62 : 48}%)` : `hsl(${hue} ${isDark ? 30 : 55}% ${isDark ? 30 : 84}%)`;
        painter.fillRect(column * this.cell_px, row * this.cell_px, this.cell_px - 1, this.cell_px - 1);
        if (number !== this.marked) continue;
        painter.strokeStyle = color;
        painter.lineWidth = 2;
        painter.strokeRect(column * this.cell_px, row * this.cell_px, this.cell_px - 1, this.cell_px - 1);
      }
    }
  }

  /** The number that decides an element's colour. */
  private groupOf(number: number): number {
    const { lane = 0, offset = 0, column = 0 } = this.holders.of(number);
    if (this.layout.kind === "distributed") return lane;
    return this.layout.kind === "shared" ? Math.floor((offset * bytesOf(this.layout.type)) / BANK_BYTES) % BANKS : columnOf(column, this.layout.type);
  }
}

/** Return how light a computed colour is, from 0 to 1. */
function lightnessOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return (0.3 * red + 0.6 * green + 0.1 * blue) / 255;
}
