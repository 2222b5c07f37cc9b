/** What a drawing is made of, before and after it is laid out. Pure data: it passes to the worker and back. */

export type Point = readonly [x: number, y: number];

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** What people reject leaves a gate below, with a word beside it. */
export interface Rejection {
  /** Of its ways. */
  id: string;
  targets: readonly string[];
  /** Of the word. */
  width: number;
}

/** One rule at its station, as much of it as takes room. */
export interface Outlet {
  id: string;
  /** From the top of the card to the middle of its port, and how far right of the card's side that stands. */
  port: number;
  aside: number;
  /** The rule whose edge and gate it shares: both ask the same people and lead to the same place. */
  leader: string | undefined;
  /** What stands on its edge, in one line, and how wide that is; "" on the main way. */
  label: string;
  words: number;
  /** Room right of its port, where its words have no other place. */
  room?: number;
  /** Width of the name over its gate, 0 without a gate. */
  gate: number;
  /** The name, line by line. */
  gateRows: readonly string[];
  /** More gates than one stand there. */
  many: boolean;
  /** How high that name stands over it. */
  gateOver: number;
  /** Where the gate leads what it rejects, as an edge of its own out of it. */
  rejected: Rejection | undefined;
  /** What stands on a loop ("at most 3 times"), as wide as it is; 0 without. */
  pill: number;
  pillWords: string;
  /** Never matches: its way back stays its own. */
  dead: boolean;
  /** What edges are drawn to: stations, ends, and pills that name what is too far away or no place. */
  targets: readonly string[];
  /** Tells whether one of its edges leads back. */
  loops: boolean;
  /** Tells whether it leads back to its own station and is only a badge there. */
  badge: boolean;
}

export interface Part {
  key: string;
  kind: "start" | "station" | "end" | "pill";
  width: number;
  height: number;
  /** From the top to where the main way goes in and out. */
  port: number;
  /** Room left of it: the bar of a join. */
  before: number;
  /** Room over and under it. */
  over: number;
  under: number;
  /** No rule leads on: a + stands beside it. */
  open: boolean;
  /** Of a station that only joins, drawn as the bar of its join: how wide the words over it are; 0 for a card. */
  bar: number;
  outlets: readonly Outlet[];
  /** How wide a pill is that names it. */
  named: number;
}

/** A line as a graph to be laid out. Parts in the order in which they are told apart: the main way first. */
export interface Graph {
  parts: readonly Part[];
  /** Keys of the main way from the start to its end, and the rules that it takes. */
  main: readonly string[];
  mainRules: readonly string[];
  /** "rule>target" of its edges. */
  mainEdges: readonly string[];
  /** "rule>target" of the edges that lead back. */
  back: readonly string[];
  /** Rules among them that lead on as far as a column further right, and turn there below what stands in between. */
  turned?: readonly string[];
  /** Parts that stand one after the other though no edge leads on. */
  silent: readonly (readonly [string, string])[];
  /** Width by height of the window that it is seen in: a long line is broken into rows of that shape. */
  window: readonly [width: number, height: number];
}

export interface Way {
  rule: string;
  target: string;
  points: readonly Point[];
  back: boolean;
  /** Where its pill stands, in the middle of it; of ways that share their end and say the same the first has it. */
  pillAt: Point | undefined;
  /** Where its words stand. */
  wordsAt?: Rect | undefined;
}

export interface Spot {
  key: string;
  x: number;
  y: number;
}

/** Where everything stands. */
export interface Placed {
  /** Upper left corners of cards, pills and the start. */
  parts: readonly Spot[];
  /** Middles of hexagons, by rule. */
  gates: readonly Spot[];
  ways: readonly Way[];
  /** Keys of the parts of each row, where it was broken into rows. */
  rows: readonly (readonly string[])[];
  /** "rule>target" of edges that would cross the main way or go too far: pills name their targets. */
  stubs?: readonly string[];
  /** Only cards in rows, while the layout of a long line is under way: its edges come with that. */
  provisional?: true;
}
