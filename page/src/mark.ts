// The mark of tritond: lines of a kernel, linked with those of its assembly.

const NAMESPACE = "http://www.w3.org/2000/svg";
/** Lines of the mark: x, y, width and colour. */
const LINES = [[5, 7, 9, "#54d3b0"], [5, 14, 6, "#f0b429"], [5, 21, 9, "#7aa7ff"], [18, 7, 9, "#54d3b0"], [15, 14, 12, "#f0b429"], [18, 21, 9, "#7aa7ff"]] as const;

/** Return the mark as a picture without a name, to show next to one. */
export function mark(): SVGSVGElement {
  const picture = made("svg", { viewBox: "0 0 32 32", class: "mark", "aria-hidden": "true" }) as SVGSVGElement;
  picture.append(made("rect", { width: 32, height: 32, rx: 7, fill: "#0b2b25" }));
  for (const [x, y, width, fill] of LINES) picture.append(made("rect", { x, y, width, height: 4, rx: 2, fill }));
  return picture;
}

function made(tag: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}
