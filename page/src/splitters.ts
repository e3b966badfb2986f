// Splitters between panes for the keyboard: dockview itself only lets a pointer drag them.

const STEP_PX = 24;
const KEYS: Readonly<Record<string, readonly [number, number]>> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Let arrow keys move the splitters in `root`, as a pointer does. */
export function listenForArrows(root: HTMLElement): void {
  root.addEventListener("keydown", (event) => {
    const [across, down] = KEYS[event.key] ?? [0, 0];
    const { target } = event;
    if (!(target instanceof HTMLElement) || !target.matches(".dv-sash") || (!across && !down)) return;
    event.preventDefault();
    drag(target, across * STEP_PX, down * STEP_PX);
    describe(target);
  });
}

/** Make every splitter in `root` reachable, and say where it is. */
export function describeSplitters(root: HTMLElement): void {
  for (const sash of root.querySelectorAll<HTMLElement>(".dv-sash")) describe(sash);
}

/** Drag with pointer events, so that dockview's own limits hold. */
function drag(sash: HTMLElement, across_px: number, down_px: number): void {
  const at = (x: number, y: number): PointerEventInit => ({ clientX: x, clientY: y, bubbles: true });
  sash.dispatchEvent(new PointerEvent("pointerdown", at(0, 0)));
  document.dispatchEvent(new PointerEvent("pointermove", at(across_px, down_px)));
  document.dispatchEvent(new PointerEvent("pointerup", at(across_px, down_px)));
}

function describe(sash: HTMLElement): void {
  const isColumns = sash.closest(".dv-split-view-container")?.classList.contains("dv-horizontal") ?? false;
  const [at, of] = isColumns ? [sash.offsetLeft, sash.parentElement?.offsetWidth] : [sash.offsetTop, sash.parentElement?.offsetHeight];
  sash.tabIndex = sash.classList.contains("dv-disabled") ? -1 : 0;
  sash.setAttribute("role", "separator");
  sash.setAttribute("aria-orientation", isColumns ? "vertical" : "horizontal");
  sash.setAttribute("aria-label", isColumns ? "Width of panes" : "Height of panes");
  sash.setAttribute("aria-valuenow", String(Math.round((100 * at) / (of || 1))));
}
