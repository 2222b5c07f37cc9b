/** Words on the canvas: cut to fit, and as wide as they will be before anything is drawn. */

import { say } from "../shell/words";

const MOST = 24;
const SHORT = 10;

export const cut = (text: string): string => (text.length <= MOST ? text : `${text.slice(0, MOST - 1).trimEnd()}…`);

/** In two lines where that makes it narrower: the room between two stations is small. */
export function broken(text: string): string[] {
  const shown = cut(text);
  if (shown.length <= SHORT) return [shown];
  const spaces = [...shown.matchAll(/ /g)].map((each) => each.index);
  const longest = (at: number): number => Math.max(at, shown.length - at - 1);
  const best = spaces.reduce<number | undefined>(
    (found, at) => (found === undefined || longest(at) < longest(found) ? at : found),
    undefined,
  );
  return best === undefined ? [shown] : [shown.slice(0, best), shown.slice(best + 1)];
}

/** As wide as its longer line. */
export const brokenWidth = (text: string, size: number): number =>
  Math.max(...broken(text).map((each) => widthOf(each, size)));

/** A card is wider from afar (--canvas-grown), less its border. */
const GROWN = 32;
const PADDING = 20;
const LEAST = 16;

/** So that the longest word of a name stands whole on its card, and two lines of it. */
export const wordSize = (name: string, width: number, height: number): number =>
  Math.floor(
    Math.min((width + GROWN) / (0.6 * Math.max(4, ...name.split(/\s+/).map((word) => word.length))), height / 2.2),
  );

/** So that a name of usual length stands whole in one line. */
export const nameSize = (name: string, width: number): number =>
  Math.max(LEAST, Math.floor((width - PADDING) / (0.6 * name.length)));

/** About as wide as IBM Plex Sans of this size sets it. */
export const widthOf = (text: string, size: number): number => text.length * size * 0.56;

const PILL = 42;

/** Of the pill that names a target which no edge leads to. */
export const pillWidth = (name: string): number => Math.round(widthOf(cut(name), 12) + PILL);

/** What a screen reader says of how the canvas is used, instead of React Flow's English. */
export const CANVAS_HELP = {
  "node.a11yDescription.default": say("nodeHelp"),
  "node.a11yDescription.keyboardDisabled": say("nodeHelp"),
  "edge.a11yDescription.default": say("edgeHelp"),
};
