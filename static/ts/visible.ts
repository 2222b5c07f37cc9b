/** Characters that nobody sees are written out in what a page draws by itself: the canvas, the palette, what arrives.
 * The server does the same with whole pages (pipelines/routing/basics/hidden_characters.py has the same characters). */
const RANGES = [
  [0x00, 0x08],
  [0x0b, 0x0c],
  [0x0e, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  [0xe0000, 0xe007f],
] as const;
const unit = (code: number): string => `\\u{${code.toString(16)}}`;
const HIDDEN = new RegExp(`[${RANGES.map(([from, to]) => `${unit(from)}-${unit(to)}`).join("")}]`, "gu");
const SPOKEN = ["title", "aria-label"];
// What is typed there is sent back as it is; the code shows such characters in its own way.
const AS_IT_IS = "textarea, script, style, [contenteditable]";

/** Replaces characters that nobody sees by escapes, but for those that join signs. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (found, at: number) => (joins(text, found, at) ? found : escaped(found)));
}

function escaped(found: string): string {
  const code = found.codePointAt(0) ?? 0;
  const digits = (length: number): string => code.toString(16).padStart(length, "0");
  return code < 0x100 ? `\\x${digits(2)}` : code < 0x10000 ? `\\u${digits(4)}` : `\\U${digits(8)}`;
}

/** A joiner inside an emoji of several people is seen as one picture, not hidden. */
function joins(text: string, found: string, at: number): boolean {
  const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? "";
  const picture = (before.codePointAt(0) ?? 0) >= 0x1f000 || before === "\ufe0f";
  return found === "\u200d" && picture && text.charCodeAt(at + 1) >= 0x2190;
}

/** Escapes such characters in the page and in all that changes from now on, before anything is painted. */
export function startVisible(): void {
  new MutationObserver((changes) => {
    for (const { type, target, attributeName, addedNodes } of changes) {
      if (type === "attributes") mendAttribute(target as Element, attributeName ?? "");
      else if (type === "characterData") mendText(target as Text);
      else addedNodes.forEach(mend);
    }
  }).observe(document.body, {
    attributeFilter: SPOKEN,
    characterData: true,
    childList: true,
    subtree: true,
  });
}

function mend(added: Node): void {
  if (added instanceof Text) mendText(added);
  if (!(added instanceof Element)) return;
  for (const element of [added, ...added.querySelectorAll("[title], [aria-label]")]) {
    for (const name of SPOKEN) mendAttribute(element, name);
  }
  const texts = document.createTreeWalker(added, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) mendText(texts.currentNode as Text);
}

function mendText(text: Text): void {
  const readable = visible(text.data);
  // Written only where something changes: what is written is observed again.
  if (readable !== text.data && !text.parentElement?.closest(AS_IT_IS)) text.data = readable;
}

function mendAttribute(element: Element, name: string): void {
  const attribute = element.getAttribute(name) ?? "";
  const readable = visible(attribute);
  if (readable !== attribute) element.setAttribute(name, readable);
}
