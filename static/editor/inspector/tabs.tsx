/** The tabs of the inspector, in their order. A new one is a line here and a component in a file of its own. */
import type { ComponentType } from "react";
import { GatesTab } from "../gates/Gates";
import { RulesTab } from "../rules/Rules";
import type { Words } from "../shell/words";
import { type End, endOf, type Gate, type LineDocument, rulesOf, type Station, stationOf } from "../store/document";
import type { Editor, Selection } from "../store/store";
import { TestsTab } from "../testmode/TestsTab";
import { CommentCount, Comments } from "./Comments";
import { Configure, InputsTab } from "./Configure";
import type { Findings } from "./findings";

/** What the inspector is about. Nothing chosen is the line itself. */
export type Chosen =
  | { what: "line" }
  | { what: "station"; station: Station; rule: string | undefined }
  | { what: "gate"; gate: Gate }
  | { what: "end"; end: End }
  | { what: "several"; keys: readonly string[] };

export interface TabProps<C extends Chosen = Chosen> {
  editor: Editor;
  line: LineDocument;
  findings: Findings;
  chosen: C;
  mayEdit: boolean;
}

export interface Tab {
  id: string;
  word: keyof Words;
  shows(chosen: Chosen): boolean;
  /** How many there are, beside the word. */
  count?(chosen: Chosen, line: LineDocument): number;
  /** The same, where it does not stand in the line. */
  badge?: ComponentType<{ editor: Editor; line: LineDocument; chosen: Chosen }>;
  component: ComponentType<TabProps>;
}

export const TABS: readonly Tab[] = [
  { id: "configure", word: "configure", shows: (chosen) => chosen.what !== "several", component: Configure },
  {
    id: "rules",
    word: "rules",
    shows: (chosen) => chosen.what === "station",
    count: (chosen) => (chosen.what === "station" ? rulesOf(chosen.station).length : 0),
    component: RulesTab,
  },
  {
    id: "inputs",
    word: "inputsTab",
    shows: (chosen) => chosen.what === "line",
    count: (_, line) => (Array.isArray(line.inputs) ? line.inputs.length : 0),
    component: InputsTab,
  },
  {
    id: "gates",
    word: "gates",
    shows: (chosen) => chosen.what === "line",
    count: (_, line) => line.gates?.length ?? 0,
    component: GatesTab,
  },
  {
    id: "tests",
    word: "tests",
    shows: (chosen) => chosen.what === "line" || chosen.what === "station",
    component: TestsTab,
  },
  {
    id: "comments",
    word: "comments",
    shows: ({ what }) => ["line", "station", "gate"].includes(what),
    badge: CommentCount,
    component: Comments,
  },
];

export function chosenOf(line: LineDocument, { keys, rule, gate }: Selection): Chosen {
  const gateFound = gate === undefined ? undefined : line.gates?.find((each) => each.key === gate);
  if (gateFound) return { what: "gate", gate: gateFound };
  if (keys.length > 1) return { what: "several", keys };
  const key = keys[0] ?? "";
  const station = stationOf(line, key);
  if (station) return { what: "station", station, rule };
  const end = endOf(line, key);
  return end ? { what: "end", end } : { what: "line" };
}
