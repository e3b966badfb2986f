// Draws an array as a grid of elements; accessed ones have the colour of their program.

import { element } from "./dom";
import { isInside, numberOf, sizeOf } from "./trace";

/** Elements in one row of a vector. */
const WRAPPED_AT = 32;
const MOST_ROWS = 128;
const MOST_COLUMNS = 160;
/** Arrays of up to this size are drawn larger. */
const FEW_ROWS = 8;
/** Rows below the array, for accesses out of bounds. */
const ROWS_BEYOND = 3;
const WRONG = "#d32f2f";

/** The layout of an array: matrices side by side, a vector in rows of 32. */
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
}

export class ArrayPicture {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly layout: Layout;
  private readonly cell_px: number;
  private marked = -1;
  private drawn: Drawn = { before: new Map(), now: [], colour: "" };

  constructor(
    private readonly name: string,
    private readonly shape: readonly number[],
    goesBeyond: boolean,
    private readonly tell: (name: string, index: number[]) => void,
  ) {
    this.layout = layoutOf(shape);
    const [rows, columns] = this.shown();
    this.cell_px = Math.max(4, Math.min(rows > FEW_ROWS ? 7 : 14, Math.floor(560 / columns)));
    const height = (rows + (goesBeyond ? ROWS_BEYOND : 0)) * this.cell_px;
    this.canvas = element("canvas", { width: columns * this.cell_px, height, className: "array", role: "img", tabIndex: 0 });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("keydown", (event) => this.move(event));
    this.canvas.addEventListener("focus", () => this.mark(Math.max(this.marked, 0)));
    this.element = element("figure", {}, element("figcaption", {}, this.caption()), this.canvas);
  }

  /** Draw a step; `label` describes it in words. */
  draw(drawn: Drawn, label: string): void {
    this.drawn = drawn;
    this.canvas.setAttribute("aria-label", label);
    this.paint();
  }

  /** Draw again with the page's current colours. */
  paint(): void {
    const painter = this.canvas.getContext("2d");
    if (!painter) return;
    const size_px = this.cell_px - 1;
    const ink = getComputedStyle(document.body).color;
    const fill = (place: readonly [number, number] | null, colour: string, alpha: number): void => {
      if (!place) return;
      painter.globalAlpha = alpha;
      painter.fillStyle = colour;
      painter.fillRect(place[1] * this.cell_px, place[0] * this.cell_px, size_px, size_px);
    };
    painter.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const [rows, columns] = this.shown();
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        const number = this.numberAt(row, column);
        if (number === null) continue;
        const before = this.drawn.before.get(number);
        if (this.drawn.wrong?.has(number)) fill([row, column], WRONG, 1);
        else fill([row, column], before ?? ink, before ? 0.45 : 0.12);
      }
    }
    for (const index of this.drawn.now) {
      if (isInside(index, this.shape)) fill(this.placeOf(numberOf(index, this.shape)), this.drawn.colour, 1);
      else fill(this.beyond(index), WRONG, 1);
    }
    const marked = this.marked < 0 ? null : this.placeOf(this.marked);
    if (!marked) return;
    painter.globalAlpha = 1;
    painter.strokeStyle = ink;
    painter.lineWidth = 2;
    painter.strokeRect(marked[1] * this.cell_px, marked[0] * this.cell_px, size_px, size_px);
  }

  private caption(): string {
    const { rows, columns } = this.layout;
    const [shownRows, shownColumns] = this.shown();
    const isCut = shownRows < rows || shownColumns < columns;
    const what = this.shape.length === 1 && rows > 1 ? `, in rows of ${WRAPPED_AT}` : this.shape.length > 2 ? ", its matrices side by side" : "";
    const cut = isCut ? `; cut: the first ${shownRows} of ${rows} rows and ${shownColumns} of ${columns} columns are drawn` : "";
    return `${this.name} [${this.shape.join(", ")}]${what}${cut}`;
  }

  private shown(): [number, number] {
    return [Math.min(this.layout.rows, MOST_ROWS), Math.min(this.layout.columns, MOST_COLUMNS)];
  }

  /** Row and column of an element, null if it is not drawn. */
  private placeOf(number: number): [number, number] | null {
    const [down, across] = this.layout.matrix;
    let row = Math.floor(number / across);
    let column = number % across;
    if (this.shape.length > 2) {
      column += Math.floor(row / down) * (across + 1);
      row %= down;
    }
    const [rows, columns] = this.shown();
    return row < rows && column < columns ? [row, column] : null;
  }

  /** The element drawn there, null if there is none. */
  private numberAt(row: number, column: number): number | null {
    const [down, across] = this.layout.matrix;
    const isStacked = this.shape.length > 2;
    const matrix = isStacked ? Math.floor(column / (across + 1)) : 0;
    const within = isStacked ? column % (across + 1) : column;
    const number = (matrix * down + row) * across + within;
    return row < down && within < across && number < sizeOf(this.shape) ? number : null;
  }

  /** The place of an access out of bounds, beside or below the array; null if it is too far away. */
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
    const scale = this.canvas.width / this.canvas.clientWidth / this.cell_px;
    const [row, column] = [Math.floor(event.offsetY * scale), Math.floor(event.offsetX * scale)];
    const number = this.numberAt(row, column);
    if (number !== null) this.mark(number);
  }

  private move(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.layout.matrix[1], ArrowUp: -this.layout.matrix[1] }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    this.mark(this.marked + by);
  }

  private mark(number: number): void {
    if (number < 0 || number >= sizeOf(this.shape) || !this.placeOf(number)) return;
    this.marked = number;
    this.paint();
    const index: number[] = [];
    for (let axis = this.shape.length - 1, left = number; axis >= 0; axis -= 1) {
      index.unshift(left % this.shape[axis]!);
      left = Math.floor(left / this.shape[axis]!);
    }
    this.tell(this.name, index);
  }
}

function layoutOf(shape: readonly number[]): Layout {
  const size = sizeOf(shape);
  if (shape.length <= 1) {
    const columns = Math.max(1, Math.min(size, WRAPPED_AT));
    const rows = Math.max(1, Math.ceil(size / WRAPPED_AT));
    return { rows, columns, matrix: [rows, columns] };
  }
  const [down, across] = [shape.at(-2)!, shape.at(-1)!];
  const matrices = shape.length > 2 ? sizeOf(shape.slice(0, -2)) : 1;
  return { rows: down, columns: shape.length > 2 ? matrices * (across + 1) - 1 : across, matrix: [Math.max(down, 1), Math.max(across, 1)] };
}
