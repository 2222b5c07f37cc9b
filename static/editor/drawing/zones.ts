/** The room that a part takes besides its card: words over the edges that leave it, pills, the bar of a join. Nothing else
 * is drawn there, so that no edge goes through words, and words stand at their own edge and no other. */
import { boldWidthOf } from "./text";
import type { Outlet, Part, Rect } from "./types";

export const CARD = { width: 104, widest: 216, height: 72, port: 36, step: 24 };
export const WORDS = { left: 13, gap: 6, line: 16, over: 2, apart: 3 };
export const STUB = { left: 22, height: 20, between: 6 };
/** Over the edge to pills its words stand so much higher. */
const OVER_PILL = 9;
const PLUS = 22;
/** The bar of a join reaches so far over and under its card. */
export const JOIN = { out: 4 };
/** A station that only joins: no card, but the bar, with its name and what it waits for over it. */
export const BAR = { width: 6, port: 24, under: 14, over: 2 * WORDS.line + 4 };
/** Half of the circle that a number stands in. */
export const PORT = 10;
/** `apart`: what runs above or below it. */
export const HEXAGON = { width: 40, height: 32, over: 2, many: 6, apart: 6 };
/** The word beside the edge of what a gate rejects: left of it, below the hexagon. `aside`: how far left of the middle it
 * leaves where the rule itself leads back from there. */
export const REJECTED = { beside: 6, under: 4, aside: 8 };
export const PILL = { height: 20 };

export type GateSize = Pick<Outlet, "gate" | "gateOver" | "gateRows" | "many">;
export const NO_GATE: GateSize & { rejected: undefined } = {
  gate: 0,
  gateOver: 0,
  gateRows: [],
  many: false,
  rejected: undefined,
};

/** A gate with its name, and the word below it: its hexagon stands in the middle of that width. */
export const gateWidth = ({ gate, rejected }: Pick<Outlet, "gate" | "rejected">): number =>
  Math.max(HEXAGON.width, gate, rejected ? 2 * (REJECTED.beside + rejected.width) : 0);
export const gateHeight = ({ gateOver, rejected }: Pick<Outlet, "gateOver" | "rejected">): number =>
  gateOver + HEXAGON.height + (rejected ? REJECTED.under + WORDS.line : 0);

/** Where what is rejected leaves a gate: beside what leads back out of it. */
export const rejectedFrom = ({ loops }: Pick<Outlet, "loops">): number => (loops ? -REJECTED.aside : 0);

/** Everything that leads out of a station by this rule: past its gate, and out of it. */
export const leavingOf = ({ id, targets, rejected }: Outlet): { id: string; to: string }[] => [
  ...targets.map((to) => ({ id, to })),
  ...(rejected?.targets ?? []).map((to) => ({ id: rejected?.id ?? "", to })),
];

/** As wide as its name in these lines over the hexagon, and how high they are; `many`: it is one of several gates. */
export const gateOf = (gateRows: readonly string[], many: boolean): GateSize => ({
  gate: Math.ceil(Math.max(...gateRows.map((each) => boldWidthOf(each, 12)))) + 8,
  gateOver: gateRows.length * WORDS.line + HEXAGON.over + (many ? HEXAGON.many : 0),
  gateRows,
  many,
});

/** How much room as many lines take over their edge, or over pills on it. */
export const roomOver = (lines: number, pills = false): number =>
  lines > 0 ? lines * WORDS.line + WORDS.over + (pills ? OVER_PILL : 0) : pills ? STUB.height / 2 : 0;
/** And how much of it is below the edge. */
export const roomUnder = (pills: boolean): number => (pills ? STUB.height / 2 : 0);

/** How far right of the card its words reach. */
export const wordsWidth = (part: Part): number =>
  Math.max(0, ...part.outlets.map((each) => (each.badge ? 0 : each.words)));

/** Where the pills of a rule begin, right of the card: under its words. */
export const stubsFrom = (part: Part): number => STUB.left + (part.open ? PLUS : 0);

/** How far right of the card the + of a station without rules reaches. */
export const plusWidth = WORDS.left + PLUS;

/** Pills stand in one row behind one another. */
export const stubsWidth = (outlet: Outlet): number =>
  outlet.stubs.reduce((sum, stub) => sum + stub.width + STUB.between, 0);

/** Rules that lead back go down right of the words, each in a lane of its own. */
const LANE = 12;

const loopsOf = (part: Part): Outlet[] => part.outlets.filter((each) => each.loops && each.gate === 0);

/** How far right of the card a rule that leads back turns down. */
export const laneOf = (part: Part, outlet: Outlet): number => {
  const lanes = loopsOf(part);
  // The lowest rule turns first: so none crosses another.
  return beyondWords(part) + LANE * (lanes.length - 1 - lanes.indexOf(outlet)) + LANE / 2;
};

/** Badges of retries stand side by side on the lower edge of the card. */
export const BADGE = { first: 10, width: 58 };
export const badgesWidth = (part: Part): number => BADGE.width * part.outlets.filter((each) => each.badge).length;

/** The room right of the card. */
export const after = (part: Part): number =>
  part.kind === "station" ? beyondWords(part) + LANE * loopsOf(part).length : 0;

function beyondWords(part: Part): number {
  const words = wordsWidth(part);
  const stubs = Math.max(0, ...part.outlets.map(stubsWidth));
  const least = Math.max(part.open ? plusWidth : 14, part.bar - part.width);
  return Math.max(least, words > 0 ? WORDS.left + words + WORDS.gap : 0, stubs > 0 ? stubsFrom(part) + stubs : 0);
}

/** All of its room, seen from the upper left corner of the card. */
export const zoneOf = (part: Part): Rect => ({
  x: -part.before,
  y: -part.over,
  width: part.before + part.width + after(part),
  height: part.over + part.height + part.under,
});

/** The words of a rule, seen from the upper left corner of the card. */
export const wordsOf = (part: Part, outlet: Outlet): Rect => ({
  x: part.width + WORDS.left,
  y: outlet.port - roomOver(outlet.lines, outlet.stubs.length > 0),
  width: outlet.words,
  height: outlet.lines * WORDS.line,
});
