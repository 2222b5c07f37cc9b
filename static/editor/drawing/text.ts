/** Words on the canvas: cut to fit, and as wide as they will be before anything is drawn. */

import { say } from "../shell/words";

const MOST = 24;
const MOST_TWO = 34;

export const cut = (text: string, most = MOST): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;

/** In the two lines that are narrowest, where it has two words. */
export function inTwo(text: string): string[] {
  const short = cut(text, MOST_TWO);
  const breaks = [...short.matchAll(/ /g)].map(({ index }) => [short.slice(0, index), short.slice(index + 1)]);
  const longest = (lines: readonly string[]): number => Math.max(...lines.map((each) => each.length));
  return [[short], ...breaks].reduce((best, lines) => (longest(lines) < longest(best) ? lines : best));
}

/** A card is wider from afar (--canvas-grown), less its border; in between it is as wide as it is, less its padding. */
const WIDER = { far: 32, middle: -19 };

/** The letters in which the longest word of a name stands whole on its card, and two lines of it. */
const wordSize = (name: string, width: number, height: number): number =>
  Math.floor(Math.min(width / Math.max(2.4, ...name.split(/\s+/).map((word) => boldWidthOf(word, 1))), height / 2.2));

/** Letters of one size for all names of a line, in which nine of ten of them stand whole. */
export function namesSize(cards: readonly { name: string; width: number; height: number }[], level: Away): number {
  const sizes = cards.map(({ name, width, height }) => wordSize(name, width + WIDER[level], height));
  return sizes.sort((one, other) => one - other)[Math.floor(sizes.length / 10)] ?? 0;
}

export type Away = keyof typeof WIDER;

/** Widths that IBM Plex Sans sets the letters from the space to the tilde, in hundredths of its size. */
const ADVANCES = (
  "24 28 42 71 60 93 69 24 34 34 45 60 27 40 27 38 60 60 60 60 60 60 60 60 60 60 29 29 60 60 60 48 " +
  "89 64 65 62 67 58 56 70 71 40 51 63 50 81 71 71 61 71 64 58 57 68 61 89 61 59 58 32 38 32 60 57 " +
  "60 53 58 50 58 55 32 53 57 25 25 53 27 87 57 56 58 58 37 49 35 57 49 77 51 50 46 34 31 34 60"
)
  .split(" ")
  .map(Number);
/** Width of a letter that is not among them, and of one as wide as it is high: Chinese, Japanese, Korean, pictures. */
const OTHER = 65;
const FULL_WIDTH = 105;
/** Factor by which names are wider, set in semibold. */
const BOLD = 1.05;

const advance = (letter: string): number => {
  const code = letter.codePointAt(0) ?? 0;
  return ADVANCES[code - 32] ?? (code >= 0x1100 ? FULL_WIDTH : OTHER);
};

/** As wide as IBM Plex Sans of this size sets it. */
export const widthOf = (text: string, size: number): number =>
  ([...text].reduce((sum, letter) => sum + advance(letter), 0) * size) / 100;

export const boldWidthOf = (text: string, size: number): number => widthOf(text, size) * BOLD;

/** As much of it as is that wide, set in semibold. */
export function fitted(text: string, width: number, size: number): string {
  let most = Math.min(text.length, Math.ceil(width));
  while (most > 1 && boldWidthOf(cut(text, most), size) > width) most -= 1;
  return cut(text, most);
}

/** Its icon, the gap behind it, padding and border. */
const PILL = 38;

/** Of the pill that names a target which no edge leads to. */
export const pillWidth = (name: string): number => Math.ceil(widthOf(cut(name), 12) + PILL);

/** What a screen reader says of how the canvas is used, instead of React Flow's own words. */
export const CANVAS_HELP = {
  "node.a11yDescription.default": say("nodeHelp"),
  "node.a11yDescription.keyboardDisabled": say("nodeHelp"),
  "edge.a11yDescription.default": say("edgeHelp"),
};
