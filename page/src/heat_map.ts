// A heat map of the differences between an output and its reference.

import { element } from "./dom";

/** Counts of mismatched elements by cell of the output, seen as a matrix. */
export interface MismatchMap {
  rows: number;
  columns: number;
  mismatched: number[][];
}

const CELL_PX = 8;

/** Return the drawn map with a caption, which describes the cell under the pointer. */
export function heatMap(name: string, map: MismatchMap): HTMLElement {
  const [down, across] = [map.mismatched.length, map.mismatched[0]?.length ?? 0];
  const label = `Where ${name} differs: ${map.rows} × ${map.columns} elements in ${down} × ${across} cells`;
  // whole pixels of the screen, so that no cell is drawn blurred
  const cell = Math.max(2, Math.floor(CELL_PX * devicePixelRatio));
  const canvas = element("canvas", { width: across * cell, height: down * cell, className: "heat", role: "img", "aria-label": label });
  canvas.style.width = `${canvas.width / devicePixelRatio}px`;
  const painter = canvas.getContext("2d");
  const style = getComputedStyle(document.body);
  if (painter) {
    map.mismatched.forEach((row, y) =>
      row.forEach((count, x) => {
        const [top, left] = [span(y, down, map.rows), span(x, across, map.columns)];
        const size = (top[1] - top[0]) * (left[1] - left[0]);
        painter.globalAlpha = count ? 0.25 + (0.75 * count) / size : 0.08;
        painter.fillStyle = count ? "#d32f2f" : style.color;
        painter.fillRect(x * cell, y * cell, cell - 1, cell - 1);
      }),
    );
  }
  const caption = element("figcaption", {}, label);
  canvas.addEventListener("pointermove", (event) => {
    const x = Math.min(Math.floor((event.offsetX / canvas.clientWidth) * across), across - 1);
    const y = Math.min(Math.floor((event.offsetY / canvas.clientHeight) * down), down - 1);
    const range = (cell: number, cells: number, size: number): string => {
      const [first, end] = span(cell, cells, size);
      return first === end - 1 ? `${first}` : `${first} to ${end - 1}`;
    };
    caption.textContent = `Row ${range(y, down, map.rows)}, column ${range(x, across, map.columns)}: ${map.mismatched[y]?.[x] ?? 0} differ`;
  });
  canvas.addEventListener("pointerleave", () => (caption.textContent = label));
  return element("figure", {}, canvas, caption);
}

/** The first position in a cell, and the first one after it. */
function span(cell: number, cells: number, size: number): [number, number] {
  return [Math.ceil((cell * size) / cells), Math.ceil(((cell + 1) * size) / cells)];
}
