// Timelines: bars of what goes on grow, and the line of the present moves, without asking the server
// (pipelines/templatetags/time_axis.py draws them). A drawing that has no room left is fetched anew.

import { serverNow } from "../time";

const EVERY_MS = 1000;
const ANEW_MS = 5000;
let fetched = 0;

function percent(at: number, begin: number, end: number): number {
  return (100 * Math.min(Math.max(at - begin, 0), end - begin)) / (end - begin);
}

/** Returns whether the present is beyond the right edge. */
function grow(drawing: SVGSVGElement, now: number): boolean {
  const begin = Date.parse(drawing.dataset.begin ?? "");
  const end = Date.parse(drawing.dataset.end ?? "");
  if (Number.isNaN(begin) || Number.isNaN(end)) return false;
  const present = percent(now, begin, end);
  for (const line of drawing.querySelectorAll<SVGLineElement>(".gantt-now")) {
    line.setAttribute("x1", `${present}%`);
    line.setAttribute("x2", `${present}%`);
  }
  for (const bar of drawing.querySelectorAll<SVGRectElement>("[data-grows]")) {
    const left = percent(Date.parse(bar.dataset.grows ?? ""), begin, end);
    bar.setAttribute("width", `${Math.max(present - left, 0)}%`);
  }
  return now > end;
}

function growAll(): void {
  if (document.hidden) return;
  const drawings = [...document.querySelectorAll<SVGSVGElement>(".gantt-bars[data-end]")];
  const full = drawings.filter((drawing) => grow(drawing, serverNow()));
  if (full.length === 0 || Date.now() - fetched < ANEW_MS) return;
  fetched = Date.now();
  document.body.dispatchEvent(new CustomEvent("gl:resync"));
}

setInterval(growAll, EVERY_MS);
