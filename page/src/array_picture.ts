// Draws an array as a grid of elements; accessed ones have the colour of their program, and their values where they fit.

import { element } from "./dom";
import { indexOf, isInside, numberOf, sizeOf } from "./trace";
import { brief } from "./value_text";

/** Elements in one row of a vector; fewer, where their values then fit. */
const WRAPPED_AT = 32;
const WRAPPED_WITH_VALUES = [32, 16, 8] as const;
const MOST_ROWS = 128;
const MOST_COLUMNS = 160;
/** Arrays of up to this size are drawn larger. */
const FEW_ROWS = 8;
/** Arrays of more rows are drawn without values. */
const MOST_ROWS_WITH_VALUES = 16;
/** The least size of a cell of an array alone, and of one that shares its row with others. */
const LEAST_SIDE = 4;
const LEAST_SHARED_SIDE = 1;
const MOST_SIDE = 9;
/** Pixels around an array. */
const AROUND = 20;
/** Rows below the array, for accesses out of bounds. */
const ROWS_BEYOND = 3;
const WRONG = "#d32f2f";
/** The size of a cell with a value, and of its text. */
const [VALUE_WIDTH, VALUE_HEIGHT, VALUE_TEXT] = [28, 18, 10];

/** The layout of an array: matrices side by side, a vector in rows. */
interface Layout {
  rows: number;
  columns: number;
  /** Rows and columns of one matrix. */
  matrix: [number, number];
}

/** The state of an array at one step. */
export interface Drawn {
  /** Colours of earlier accesses, by element number. */
  before: ReadonlyMap<number, string>;
  /** Indices accessed now; some may be out of bounds. */
  now: readonly (readonly number[])[];
  colour: string;
  /** Numbers of the elements to draw red. */
  wrong?: ReadonlySet<number>;
  /** Known values, by element number. */
  values?: ReadonlyMap<number, unknown>;
}

/** The elements accessed now that are outside of the shown part, and at which sides of it. */
interface Outside {
  count: number;
  sides: ReadonlySet<string>;
}

export class ArrayPicture {
  readonly element: HTMLElement;
  private readonly canvas = element("canvas", { className: "array", role: "img", tabIndex: 0 });
  private readonly words = element("figcaption", {});
  private layout: Layout;
  private hasValues = false;
  /** Width and height of a cell, and the gap between two, in pixels of the screen, so that none is drawn blurred. */
  private cell: [number, number] = [0, 0];
  private gap = 1;
  private fitted = "";
  private marked = -1;
  /** The first row and column that are drawn of an array that is too large. */
  private origin: [number, number] = [0, 0];
  private outside: Outside = { count: 0, sides: new Set() };
  private drawn: Drawn = { before: new Map(), now: [], colour: "" };

  constructor(
    private readonly name: string,
    private readonly shape: readonly number[],
    private readonly goesBeyond: boolean,
    private readonly tell: (name: string, index: number[]) => void,
  ) {
    this.layout = layoutOf(shape, WRAPPED_AT);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("keydown", (event) => this.move(event));
    this.canvas.addEventListener("focus", () => this.mark(Math.max(this.marked, 0)));
    this.element = element("figure", {}, this.words, element("div", { className: "canvas" }, this.canvas));
  }

  /** The columns of a matrix that are drawn, 0 for a vector. */
  get matrixColumns(): number {
    return this.shape.length > 1 ? this.shown()[1] : 0;
  }

  /** Choose the size of cells for a width of the page, or `side` for those of a matrix. */
  fit(width: number, side: number | null): void {
    const ratio = devicePixelRatio;
    if (this.fitted === `${width} ${ratio} ${side}`) return;
    this.fitted = `${width} ${ratio} ${side}`;
    const wraps = this.shape.length > 1 ? [WRAPPED_AT] : WRAPPED_WITH_VALUES;
    const fitting = (this.drawn.values ? wraps : []).map((wrap) => layoutOf(this.shape, wrap)).find(({ rows, columns }) => columns * VALUE_WIDTH <= width && rows <= MOST_ROWS_WITH_VALUES);
    this.hasValues = fitting !== undefined;
    this.layout = fitting ?? layoutOf(this.shape, WRAPPED_AT);
    this.origin = [0, 0]; // rows of another width begin elsewhere
    const first = this.drawn.now.find((index) => isInside(index, this.shape));
    if (first) this.follow(numberOf(first, this.shape));
    const [rows, columns] = this.shown();
    const alone = Math.max(LEAST_SIDE, Math.min(rows > FEW_ROWS ? MOST_SIDE : 14, Math.floor(width / columns)));
    const own = this.shape.length > 1 && side ? side : alone;
    this.cell = (this.hasValues ? [VALUE_WIDTH, VALUE_HEIGHT] : [own, own]).map((each) => Math.floor(each * ratio)) as [number, number];
    this.gap = own < LEAST_SIDE && !this.hasValues ? 0 : Math.max(1, Math.round(ratio));
    this.canvas.width = columns * this.cell[0];
    this.canvas.height = (rows + (this.goesBeyond ? ROWS_BEYOND : 0)) * this.cell[1];
    this.canvas.style.width = `${this.canvas.width / ratio}px`;
    this.canvas.style.height = `${this.canvas.height / ratio}px`;
    this.show();
  }

  /** Draw a step; `label` describes it in words. */
  draw(drawn: Drawn, label: string): void {
    this.drawn = drawn;
    const first = drawn.now.find((index) => isInside(index, this.shape));
    if (first) this.follow(numberOf(first, this.shape));
    this.canvas.setAttribute("aria-label", label);
    this.show();
  }

  /** Draw, and say what of the array is shown. */
  private show(): void {
    this.outside = this.notShown();
    this.words.textContent = this.caption();
    this.paint();
  }

  /** Draw again with the page's current colours. */
  paint(): void {
    const painter = this.canvas.getContext("2d");
    if (!painter || !this.cell[0]) return;
    const [across, down] = [this.cell[0] - this.gap, this.cell[1] - this.gap];
    const ink = getComputedStyle(document.body).color;
    const fill = (place: readonly [number, number] | null, colour: string, alpha: number): void => {
      if (!place) return;
      painter.globalAlpha = alpha;
      painter.fillStyle = colour;
      painter.fillRect(place[1] * this.cell[0], place[0] * this.cell[1], across, down);
    };
    painter.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const { before, wrong, colour, values } = this.drawn;
    const now = new Set(this.drawn.now.filter((index) => isInside(index, this.shape)).map((index) => numberOf(index, this.shape)));
    const [rows, columns] = this.shown();
    if (this.hasValues) {
      painter.font = `${Math.round(VALUE_TEXT * devicePixelRatio)}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace`;
      painter.textAlign = "center";
      painter.textBaseline = "middle";
    }
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const number = this.numberAt(row, column);
        if (number === null) continue;
        const isRed = wrong?.has(number) ?? false;
        const isStrong = isRed || now.has(number);
        const earlier = before.get(number);
        if (isRed) fill([row, column], WRONG, 1);
        else if (now.has(number)) fill([row, column], colour, 1);
        else fill([row, column], earlier ?? ink, earlier ? 0.45 : 0.12);
        const value = this.hasValues ? values?.get(number) : undefined;
        if (value === undefined) continue;
        painter.globalAlpha = 1;
        painter.fillStyle = isStrong ? readableOn(isRed ? WRONG : colour) : ink;
        painter.fillText(brief(value), column * this.cell[0] + across / 2, row * this.cell[1] + down / 2 + this.gap / 2);
      }
    }
    for (const index of this.drawn.now) {
      if (!isInside(index, this.shape)) fill(this.beyond(index), WRONG, 1);
    }
    this.markEdges(painter);
    const marked = this.marked < 0 ? null : this.placeOf(this.marked);
    if (!marked) return;
    painter.globalAlpha = 1;
    painter.strokeStyle = ink;
    painter.lineWidth = 2 * Math.max(1, this.gap);
    painter.strokeRect(marked[1] * this.cell[0], marked[0] * this.cell[1], across, down);
  }

  /** Draw a bar at each edge of the shown part behind which elements are accessed now. */
  private markEdges(painter: CanvasRenderingContext2D): void {
    const [rows, columns] = this.shown();
    const [wide, high, thick] = [columns * this.cell[0], rows * this.cell[1], 3 * Math.max(1, Math.round(devicePixelRatio))];
    const bars: Record<string, [number, number, number, number]> = {
      above: [0, 0, wide, thick],
      below: [0, high - thick, wide, thick],
      "to the left": [0, 0, thick, high],
      "to the right": [wide - thick, 0, thick, high],
    };
    painter.globalAlpha = 1;
    painter.fillStyle = this.drawn.colour;
    for (const side of this.outside.sides) painter.fillRect(...bars[side]!);
  }

  private notShown(): Outside {
    const [[top, first], [rows, columns]] = [this.origin, this.shown()];
    const sides = new Set<string>();
    let count = 0;
    for (const index of this.drawn.now) {
      if (!isInside(index, this.shape)) continue;
      const [row, column] = this.rowAndColumn(numberOf(index, this.shape));
      const beyond = { above: row < top, below: row >= top + rows, "to the left": column < first, "to the right": column >= first + columns };
      const own = Object.entries(beyond).flatMap(([side, is]) => (is ? [side] : []));
      count += own.length ? 1 : 0;
      for (const side of own) sides.add(side);
    }
    return { count, sides };
  }

  /** Mark an element, and tell of it. */
  mark(number: number): void {
    if (number < 0 || number >= sizeOf(this.shape)) return;
    this.follow(number);
    this.marked = number;
    this.paint();
    this.tell(this.name, indexOf(number, this.shape));
  }

  private caption(): string {
    const { rows, columns } = this.layout;
    const [shownRows, shownColumns] = this.shown();
    const [top, left] = this.origin;
    const parts = ([["rows", top, shownRows, rows], ["columns", left, shownColumns, columns]] as const).filter(([, , shown, all]) => shown < all);
    const what = this.shape.length === 1 && rows > 1 ? `, in rows of ${columns}` : this.shape.length > 2 ? ", its matrices side by side" : "";
    const cut = parts.length ? ` (${parts.map(([name, from, shown, all]) => `${name} ${from} to ${from + shown - 1} of ${all}`).join(", ")} shown)` : "";
    const { count, sides } = this.outside;
    const others = count ? `; ${count} of the elements accessed now are ${[...sides].join(" and ")}` : "";
    return `${this.name} [${this.shape.join(", ")}]${what}${cut}${others}`;
  }

  private shown(): [number, number] {
    return [Math.min(this.layout.rows, MOST_ROWS), Math.min(this.layout.columns, MOST_COLUMNS)];
  }

  /** Draw the part of an array that has an element, if the array is too large to be drawn whole. */
  private follow(number: number): void {
    const [place, shown, all] = [this.rowAndColumn(number), this.shown(), [this.layout.rows, this.layout.columns]];
    const origin = place.map((at, axis) => {
      const [from, size] = [this.origin[axis]!, shown[axis]!];
      return at >= from && at < from + size ? from : Math.min(Math.floor(at / size) * size, all[axis]! - size);
    });
    if (origin.join() === this.origin.join()) return;
    this.origin = origin as [number, number];
    this.outside = this.notShown();
    this.words.textContent = this.caption();
  }

  /** Where an element is drawn, null if it is not. */
  private placeOf(number: number): [number, number] | null {
    const [row, column] = this.rowAndColumn(number);
    const [top, left] = this.origin;
    const [rows, columns] = this.shown();
    const isShown = row >= top && row < top + rows && column >= left && column < left + columns;
    return isShown ? [row - top, column - left] : null;
  }

  private rowAndColumn(number: number): [number, number] {
    const [down, across] = this.layout.matrix;
    let row = Math.floor(number / across);
    let column = number % across;
    if (this.shape.length > 2) {
      column += Math.floor(row / down) * (across + 1);
      row %= down;
    }
    return [row, column];
  }

  /** The element drawn there, null if there is none. */
  private numberAt(drawnRow: number, drawnColumn: number): number | null {
    const [row, column] = [drawnRow + this.origin[0], drawnColumn + this.origin[1]];
    const [down, across] = this.layout.matrix;
    const isStacked = this.shape.length > 2;
    const matrix = isStacked ? Math.floor(column / (across + 1)) : 0;
    const within = isStacked ? column % (across + 1) : column;
    const number = (matrix * down + row) * across + within;
    return row < down && within < across && number < sizeOf(this.shape) ? number : null;
  }

  /** The place of an access out of bounds, next to or below the array; null if it is too far away. */
  private beyond(index: readonly number[]): [number, number] | null {
    const [rows, columns] = this.shown();
    const across = this.layout.matrix[1];
    const size = sizeOf(this.shape);
    const over = index.length === this.shape.length ? numberOf(index, this.shape) - size : 0;
    if (over < 0) return [rows, 0];
    // a vector continues in its last row, unless that is cut off
    const isVector = this.shape.length === 1 && rows === this.layout.rows;
    const [row, column] = isVector ? [Math.floor((size + over) / across), (size + over) % across] : [rows + Math.floor(over / across), over % across];
    return row < rows + ROWS_BEYOND && column < columns ? [row, column] : null;
  }

  private point(event: PointerEvent): void {
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const number = this.numberAt(Math.floor((event.offsetY * ratio) / this.cell[1]), Math.floor((event.offsetX * ratio) / this.cell[0]));
    if (number !== null) this.mark(number);
  }

  private move(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.layout.matrix[1], ArrowUp: -this.layout.matrix[1] }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    this.mark(this.marked + by);
  }
}

/** Return the size of cells at which several matrices fit next to each other; null for a single one, or too little room. */
export function sharedSide(pictures: readonly ArrayPicture[], width: number): number | null {
  const columns = pictures.map(({ matrixColumns }) => matrixColumns).filter((count) => count > 0);
  if (columns.length < 2) return null;
  const room = width - AROUND * columns.length;
  const side = Math.floor(room / columns.reduce((sum, count) => sum + count, 0));
  return side < LEAST_SHARED_SIDE ? null : Math.min(side, MOST_SIDE);
}

function layoutOf(shape: readonly number[], wrap: number): Layout {
  const size = sizeOf(shape);
  if (shape.length <= 1) {
    const columns = Math.max(1, Math.min(size, wrap));
    const rows = Math.max(1, Math.ceil(size / wrap));
    return { rows, columns, matrix: [rows, columns] };
  }
  const [down, across] = [shape.at(-2)!, shape.at(-1)!];
  const matrices = shape.length > 2 ? sizeOf(shape.slice(0, -2)) : 1;
  return { rows: down, columns: shape.length > 2 ? matrices * (across + 1) - 1 : across, matrix: [Math.max(down, 1), Math.max(across, 1)] };
}

/** Black or white, whichever can be read on a colour such as #0072b2. */
function readableOn(colour: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.21 * red! + 0.72 * green! + 0.07 * blue! > 0.2 ? "#000000" : "#ffffff";
}
