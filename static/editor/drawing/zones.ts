/** The room that a part takes besides its card: its ports, the bar of a join, lanes of what leads back. Nothing else is drawn
 * there. */
import { boldWidthOf } from "./text";
import type { Outlet, Part, Rect } from "./types";

/** `head`: its kind and name; `under`: below its last port. */
export const CARD = { width: 104, widest: 216, height: 72, port: 36, step: 24, under: 20 };
/** `grown`: how much wider letters are from afar. */
export const WORDS = { line: 16, grown: 1.25, beside: 24 };
/** Room for the state of a task: over a card, and over the name of a gate. */
export const MARK = { height: 18 };
/** The + of a station that no rule leaves. */
const PLUS = 35;
/** The bar of a join reaches so far over and under its card. */
export const JOIN = { out: 4 };
/** A station that only joins: no card, but the bar, with its name and what it waits for over it. */
export const BAR = { width: 6, port: 24, under: 14, over: 2 * WORDS.line + 4, below: MARK.height + 4 };
/** Half of the circle that a number stands in, and from one to the next that stands with it. */
export const PORT = 10;
export const NUMBER_STEP = 20;
export const HEXAGON = { width: 40, height: 32, over: 2, many: 6 };
/** How far left of its middle a gate leads what it rejects, where the rule itself leads back from there. */
const ASIDE = 8;
export const PILL = { height: 20 };
/** Right of a card, before the next column; before a gate, which has room on both of its sides. */
const GAP = { card: 28, gate: 16, start: 12 };

export type GateSize = Pick<Outlet, "gate" | "gateOver" | "gateRows" | "many">;
export const NO_GATE: GateSize = { gate: 0, gateOver: 0, gateRows: [], many: false };

/** Below a gate: the word beside what is rejected. */
const WORD = { height: 28, apart: 16 };

/** A gate with its name, and the word of what it rejects: its hexagon stands in the middle of that width. */
export const gateWidth = ({ gate, rejected }: Pick<Outlet, "gate" | "rejected">): number =>
  Math.max(HEXAGON.width, gate, rejected ? 2 * (rejected.width + WORD.apart) : 0);
export const gateHeight = ({ gateOver, rejected }: Pick<Outlet, "gateOver" | "rejected">): number =>
  gateOver + HEXAGON.height + (rejected ? WORD.height : 0);

/** Where what is rejected leaves a gate: beside what leads back out of it. */
export const rejectedFrom = ({ loops }: Pick<Outlet, "loops">): number => (loops ? -ASIDE : 0);

/** Everything that leads out of a station by this rule: past its gate, and out of it; nothing where another rule leads for it. */
export const leavingOf = ({ id, targets, rejected, leader }: Outlet): { id: string; to: string }[] =>
  leader !== undefined
    ? []
    : [
        ...targets.map((to) => ({ id, to })),
        ...(rejected?.targets ?? []).map((to) => ({ id: rejected?.id ?? "", to })),
      ];

/** As wide as its name in these lines over the hexagon, and how high they are; `many`: it is one of several gates. */
export const gateOf = (gateRows: readonly string[], many: boolean): GateSize => ({
  gate: Math.ceil(Math.max(...gateRows.map((each) => boldWidthOf(each, 12)))) + 8,
  gateOver: MARK.height + gateRows.length * WORDS.line + HEXAGON.over + (many ? HEXAGON.many : 0),
  gateRows,
  many,
});

/** Rules that lead back go down right of the ports, each in a lane of its own. */
const LANE = 12;

const loopsOf = (part: Part): Outlet[] =>
  part.outlets.filter((each) => each.loops && each.gate === 0 && each.targets.length > 0);

/** How far right of the card a rule that leads back turns down. */
export const laneOf = (part: Part, outlet: Outlet): number => {
  const lanes = loopsOf(part);
  // The lowest rule turns first: so none crosses another.
  return portsWidth(part) + LANE * (lanes.length - 1 - lanes.indexOf(outlet)) + LANE / 2;
};

/** Badges of retries stand side by side on the lower edge of the card. */
export const BADGE = { first: 10, width: 66 };
export const badgesWidth = (part: Part): number => BADGE.width * part.outlets.filter((each) => each.badge).length;

/** How far right of the card ports reach. */
export const portsWidth = (part: Part): number =>
  Math.max(
    PORT + 4,
    part.open ? PLUS : 0,
    part.bar - part.width,
    ...part.outlets.map((each) => each.aside + PORT + 4 + (each.room ?? 0)),
  );

/** The room right of the card. */
export const after = (part: Part): number => {
  if (part.kind !== "station") return part.kind === "start" ? GAP.start : 0;
  const gated = part.outlets.some((each) => each.gate > 0 && each.port === part.port);
  return Math.max(portsWidth(part) + LANE * loopsOf(part).length, gated ? GAP.gate : GAP.card);
};

/** Room beside its port and the numbers that stand with it: words as wide as from afar, and what they keep free on both sides. */
export const roomFor = ({ id, words }: Outlet, { outlets }: Part): number =>
  Math.max(...outlets.map(({ leader, aside }) => (leader === id ? aside : 0))) +
  Math.ceil(words * WORDS.grown) +
  WORDS.beside;

/** All of its room, seen from the upper left corner of the card. */
export const zoneOf = (part: Part): Rect => ({
  x: -part.before,
  y: -part.over,
  width: part.before + part.width + after(part),
  height: part.over + part.height + part.under,
});
