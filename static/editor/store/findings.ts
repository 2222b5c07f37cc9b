/** What the server says about a draft (`lint` of pipelines/routing): shown here, never worked out here. */
import type { Remedy } from "./commands-edits";

export interface Finding {
  check: string;
  severity: "error" | "warning" | "info";
  path: string;
  /** What such findings have in common, as a heading. */
  cause: string;
  message: string;
  /** The message without its reason, which is `why`; the whole of it where it gives none. */
  short: string;
  why: string;
  hint: string;
  station: string | null;
  rule: string | null;
  gate: string | null;
  rules: string[];
  /** An outcome for which it is so, in words of the document; "" where there is none. */
  witness: string;
  /** Address of the page about this check. */
  help: string;
  remedies: Remedy[];
}

export interface RuleSays {
  status: "live" | "partly shadowed" | "dead" | "unknown";
  words: string;
  faulty: boolean;
  why: string;
  example: string;
}

/** How a rule's status looks. Of what an earlier rule takes a part is ordinary where the first match wins, no warning. */
export const PILLS: Record<RuleSays["status"], [tone: string, icon: string]> = {
  live: ["ok", "check"],
  "partly shadowed": ["neutral", "check"],
  dead: ["danger", "danger"],
  unknown: ["neutral", "info"],
};

/** Outcomes of a station that no rule takes. */
export interface Untaken {
  outcomes: "passed" | "failed" | "blocked";
  example: string;
  then: string;
  why: string;
  remedies: Remedy[];
}

/** What a change of the rules did: an example for each region of outcomes that is decided otherwise. */
export interface Elsewhere {
  changes: { station: string; rule: string | null; example: string; old: string; new: string }[];
  /** Examples that were left out. */
  more: number;
  /** Regions of which it is not known. */
  open: number;
}

/** A move of a walk (pipelines/routing/simulate/drawn_moves.py). */
export interface Way {
  source: string;
  target: string;
  /** "" where no rule was taken. */
  rule: string;
  /** The edge that is drawn for it, by its id; "": none is. */
  edge: string;
}

/** A promise of the line, and what was found out about it. */
export interface Guarantee {
  id: string;
  sentence: string;
  answer: "proved" | "refuted" | "unknown";
  /** What an unknown one is stopped by, what a proved one rests on, or the path that breaks a refuted one. */
  because: string;
  /** How far an unknown one was searched. */
  tried: string;
  /** Those of the path that breaks it. */
  ways: Way[];
}

/** Limits, escalations, what going forward needs: small signs, and the sentences that they stand for. */
export interface Signs {
  stations: Record<string, Partial<Record<Sign, string[]>>>;
  rules: Record<string, { most: number; words: string[] }>;
  line: string[];
}

export type Sign = "limits" | "escalates" | "needs";

export interface Findings {
  /** All errors and warnings, and some notes. */
  findings: Finding[];
  /** Notes that are not among them. */
  left_out: number;
  rules: Record<string, RuleSays>;
  untaken: Record<string, Untaken[]>;
  otherwise: Record<string, string>;
  visits: Record<string, number>;
  /** Of stations from which the policy leads passed outcomes on that no rule takes: where to. */
  onward: Record<string, string>;
  /** Of gates: the station that a rejection leads to. */
  rejected: Record<string, string>;
  /** Of rules: the targets by which a task can go round without a budget. */
  endless: Record<string, string[]>;
  guarantees: Guarantee[];
  signs: Signs;
  /** Of rules, by id: 0 what most tasks took of its station; only where some are clearly taken more often. It comes with
   * the page and stays. */
  taken?: Record<string, number> | undefined;
  /** With the answer of a save only; null: nothing goes elsewhere. */
  elsewhere?: Elsewhere | null;
}

export const NOTHING: Findings = {
  findings: [],
  left_out: 0,
  rules: {},
  untaken: {},
  otherwise: {},
  visits: {},
  onward: {},
  rejected: {},
  endless: {},
  guarantees: [],
  signs: { stations: {}, rules: {}, line: [] },
};
