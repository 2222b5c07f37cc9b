/** What the API does with one line, operation by operation (docs/api.md), in the words of the editor. */

import type { Rename } from "../store/commands";
import type { LineDocument } from "../store/document";
import type { Findings } from "../store/findings";
import type { Place } from "../store/merge";
import type { Fragment } from "../store/patch";
import { type Answer, ask, type Problem, type Refusal } from "./door";
import type { Trial, TrialChoices } from "./trial";
import type { Kept, Walked } from "./walk";

/** Running and generating tests may take long, and so may what waits for its turn. */
const LONG = 120_000;
const SHORT = 15_000;

/** Whose draft it is. */
export interface Draft {
  number: number;
  by: { id: number; name: string } | null;
  at: string | null;
  live: number | null;
  /** Who has saved since the live version. */
  people: string[];
  /** Who has saved since the draft that was asked from. */
  others: string[];
}

export interface Stored {
  draft: Draft;
  mayEdit: boolean;
  differs: boolean;
  document?: LineDocument;
  /** As it was typed; empty where nobody typed one. */
  text?: string;
  findings?: Findings;
}

/** A change of the draft: the whole of it, and what it was made from. */
export interface Edit {
  based_on: number;
  base: LineDocument;
  document: LineDocument;
  text?: string | undefined;
  renamed: readonly Rename[];
}

export interface Saved {
  draft: Draft;
  /** What is stored now, where others' edits are in it. */
  document?: LineDocument | undefined;
  findings: Findings;
  differs: boolean;
}

/** Nothing is stored: the text lacks what somebody else saved. */
export interface Behind {
  behind: true;
  number: number;
  draft: Draft;
  base: LineDocument;
  document: LineDocument;
  text: string;
}

/** A place that both changed, null where it is not there, with the words of the server for it. */
export interface Clash extends Place {
  place: string;
  mineWords: string;
  theirsWords: string;
  station: string | null;
  rule: string | null;
  gate: string | null;
}

/** The two edits touch: what is stored now, and where. */
export interface Clashed extends Refusal {
  by?: string;
  number?: number;
  document?: LineDocument;
  text?: string;
  clashes?: Clash[];
}

/** A button of a form that was pressed. */
export interface Deed {
  do: string;
  rows: string;
  index: number;
  kind: string;
}

export interface Form {
  html: string;
  fragment: Fragment;
  label: string;
  refused: string[];
  focus: string;
  saved: Saved | null;
}

/** The newest recorded outcome that a rule matches, or else the newest; with what was asked there, and what was seen. */
interface MatchExample {
  task: string;
  title: string;
  url: string;
  matches: boolean;
  values: [string, string][];
}

export interface RuleMatches {
  matches: number;
  /** Of these, those that no rule above it matches. */
  takes: number;
  /** The others, by the rule above that takes them. */
  instead: Record<string, number>;
  /** The newest of the others. `run`: of the task at the station. */
  shown: { task: string; title: string; url: string; run: number }[];
  unknown: number;
  failed: number;
  why: string;
  example: MatchExample | null;
}

export interface StationMatches {
  /** By id, those whose condition can be read. */
  rules: Record<string, RuleMatches>;
  outcomes: number;
  /** Of how many more the rules are not asked. */
  aside: number;
  /** Those that no rule matches. */
  untaken: number;
}

export interface Changes {
  affects: string;
  title: string;
  rows: { sentence: string; what: string; icon: string; word: string }[];
}

/** A document that is to take the place of the line. */
export interface Read {
  document: LineDocument;
  text: string;
  changes: Changes[];
  problems: Problem[];
}

export type Mark = "added" | "removed" | "changed" | "edited" | "moved";
type MarksOfKind = Record<string, Mark>;

/** A line as the server gives it to be looked at (pipelines/web/lines/drawing.py, changed.py): its document, what is
 * said of its rules, and of a difference the mark of every part that is not the same. */
/** `before`: how often it was, where that is another number. */
export type LimitShown = Findings["signs"]["rules"][string] & { before?: number };

export interface Picture {
  document: LineDocument;
  marks?: { stations: MarksOfKind; rules: MarksOfKind; ends: MarksOfKind };
  conditions: Record<string, string>;
  onward?: Findings["onward"];
  rejected?: Findings["rejected"];
  otherwise?: Findings["otherwise"];
  limits?: Record<string, LimitShown>;
  /** Of a comparison: where something changed, each place with the letter that its sentences have. */
  letters?: { node: string; rule: string; letter: string }[];
  taken?: Findings["taken"];
  /** For the canvas of a draft: rules that never match, loops without a limit, and signs of stations. */
  dead?: readonly string[];
  endless?: Findings["endless"];
  signs?: Findings["signs"]["stations"];
}

export interface Starter {
  key: string;
  name: string;
  purpose: string;
  needs: string;
  /** What the canvas draws of it. */
  picture: Picture;
}

export interface Person {
  id: number;
  name: string;
  /** May look, not draw. */
  watches: boolean;
}

export type PartKind = "station" | "end" | "rule" | "gate";

export interface Comment {
  id: string;
  kind: PartKind | "line";
  key: string;
  text: string;
  by: { id: number; name: string } | null;
  at: string;
  edited: string | null;
  resolved: string | null;
  resolved_by: { id: number; name: string } | null;
  deleted: boolean;
  revision: number;
}

export interface Thread extends Comment {
  replies: Comment[];
}

export class LineApi {
  /** `base`: the address of the line in the API. */
  constructor(private readonly base: string) {}

  /** `alone`: without the document, whatever its number. */
  draft(since: number, alone: boolean): Promise<Answer<Stored>> {
    return ask("GET", `${this.base}/draft?since=${since}${alone ? "&alone=true" : ""}`);
  }

  save(edit: Edit): Promise<Answer<Saved | Behind, Clashed>> {
    return ask("PATCH", `${this.base}/draft`, edit);
  }

  form(what: string, asked: object): Promise<Answer<Form>> {
    return ask("POST", `${this.base}/draft/forms/${what}`, asked, SHORT);
  }

  matches(document: LineDocument, station: string): Promise<Answer<StationMatches>> {
    return ask("POST", `${this.base}/draft/matches`, { document, station });
  }

  starters(): Promise<Answer<Starter[]>> {
    return ask("GET", `${this.base}/draft/starters`);
  }

  read(sent: { document: LineDocument; text?: string; starter?: string }): Promise<Answer<Read>> {
    return ask("POST", `${this.base}/draft/import`, sent);
  }

  walk(asked: object): Promise<Answer<Walked>> {
    return ask("POST", `${this.base}/walk`, asked, LONG);
  }

  scenarios(): Promise<Answer<Kept>> {
    return ask("GET", `${this.base}/draft/scenarios`, undefined, LONG);
  }

  runScenarios(document: LineDocument): Promise<Answer<Kept>> {
    return ask("POST", `${this.base}/draft/scenarios/run`, { document }, LONG);
  }

  generateScenarios(document: LineDocument): Promise<Answer<Kept>> {
    return ask("POST", `${this.base}/draft/scenarios/generate`, { document }, LONG);
  }

  keepScenario(walk: object): Promise<Answer<Kept & { key: string; name: string }>> {
    return ask("POST", `${this.base}/draft/scenarios`, walk, LONG);
  }

  deleteScenario(key: string): Promise<Answer<undefined>> {
    return ask("DELETE", `${this.base}/scenarios/${encodeURIComponent(key)}`);
  }

  trialChoices(station: string): Promise<Answer<TrialChoices>> {
    return ask("GET", `${this.base}/draft/trials?station=${encodeURIComponent(station)}`);
  }

  startTrial(asked: object): Promise<Answer<Trial>> {
    return ask("POST", `${this.base}/draft/trials`, asked);
  }

  trial(id: number, from: number): Promise<Answer<Trial>> {
    return ask("GET", `${this.base}/draft/trials/${id}?from=${from}`);
  }

  cancelTrial(id: number): Promise<Answer<Trial>> {
    return ask("POST", `${this.base}/draft/trials/${id}/cancel`);
  }

  threads(): Promise<Answer<Thread[]>> {
    return ask("GET", `${this.base}/comments`);
  }

  comment(said: object): Promise<Answer<Comment>> {
    return ask("POST", `${this.base}/comments`, said);
  }

  changeComment(id: string, change: object): Promise<Answer<Comment>> {
    return ask("PATCH", `${this.base}/comments/${id}`, change);
  }

  deleteComment(id: string): Promise<Answer<undefined>> {
    return ask("DELETE", `${this.base}/comments/${id}`);
  }

  members(): Promise<Answer<Person[]>> {
    return ask("GET", `${this.base.replace(/\/lines\/[^/]+$/, "")}/members`);
  }
}
