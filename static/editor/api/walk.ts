/** What the server says of a test: of a walk (pipelines/api/walks.py), and of the tests that are kept
 * (pipelines/api/draft_scenarios.py). The browser holds only the steps. */
import type { Json } from "../store/document";
import type { Way } from "../store/findings";

export type Step = { [key: string]: Json };

/** What a step did. Two with the same mark went the same way. */
export interface Item {
  number: number;
  station: string;
  name: string;
  did: string;
  went: string;
  word: string;
  tone: Tone;
  mark: string;
}

type Tone = "active" | "ok" | "attention" | "danger" | "neutral";

export interface Choice {
  label: string;
  sample: string;
  then: string;
  /** None where it cannot happen; `then` says why. */
  step: Step | null;
  rule: string;
  number: number | null;
  /** Tells whether the rule, whose witness it is, decides now. */
  leads: boolean;
  gate: string;
  word: string;
}

export interface Group {
  kind: "quick" | "rule" | "rest" | "word" | "answer" | "resolve" | "there" | "retry";
  title: string;
  choices: Choice[];
}

export interface Form {
  results: string[];
  verdicts: string[];
  fields: { path: string; label: string; help: string }[];
  /** Paths to several places: only JSON can fill them. */
  whole: string[];
}

export interface Token {
  station: string;
  name: string;
  status: string;
  word: string;
  tone: Tone;
  text: string;
  remedy: string;
  error: string;
  end: string;
  over: boolean;
  feedback: string;
  behind: { rule: string; to: string[] };
  question: boolean;
  facts: string[];
  groups: Group[];
  form: Form | null;
}

export interface Counted extends Way {
  count: number;
}

export interface Input {
  key: string;
  label: string;
  type: string;
  choices: string[];
  default: Json;
}

export interface Walked {
  timeline: Item[];
  cursor: number;
  refused: { step: number; message: string } | null;
  failures: string[];
  tokens: Token[];
  word: string;
  over: boolean;
  ways: Counted[];
  visits: Record<string, number>;
  taken: string[];
  tested: string[];
  why: string;
  inputs: Input[];
  /** The steps, that of a form among them. */
  asked: Step[];
}

export interface Script {
  key: string;
  name: string;
  inputs?: Record<string, Json>;
  task?: Record<string, Json>;
  steps: Step[];
  expect?: Record<string, Json>;
}

export interface Row {
  key: string;
  name: string;
  source: string;
  steps: number;
  document: Script;
  run: { holds: boolean; failures: string[]; current: boolean } | null;
}

export type Covered = "taken" | "tested" | "never";

export interface Kept {
  scenarios: Row[];
  total: number;
  coverage: { rules: Record<string, Covered>; taken: number; all: number; percent: number; words: string[] } | null;
  failed: number | null;
  missing?: { rule: string; station: string; kind: string; why: string }[];
  stopped?: boolean;
  made?: number;
}
