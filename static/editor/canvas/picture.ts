/** The line as a picture of its own: with the colours of the page, readable without it. */
import type { Editor } from "../store/store";
import { drawnOf } from "./drawing";
import { laidOut } from "./laid";
import { svgOf, TONES, type Tones } from "./svg";

/** Around what is saved. */
const ROOM = 32;

/** Resolved as the page shows them now: a file knows no tokens. */
function colours(): Tones {
  const probe = document.createElement("span");
  document.querySelector(".ed-canvas")?.append(probe);
  const read = (tone: string): string => {
    probe.style.color = tone;
    return getComputedStyle(probe).color;
  };
  const tones = Object.fromEntries(Object.entries(TONES).map(([name, tone]) => [name, read(tone)])) as Tones;
  probe.remove();
  return tones;
}

export function savePicture(editor: Editor): void {
  const { line, state } = editor;
  const laid = laidOut(line, state.findings);
  const drawn = drawnOf(line, laid, state.findings);
  const svg = svgOf({ line, laid, drawn, findings: state.findings }, colours(), ROOM);
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${String(editor.line.key ?? "line")}.svg`;
  link.click();
  URL.revokeObjectURL(address);
}
