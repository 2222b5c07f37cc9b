/** The tabs of the inspector, in their order. A new one is a line here and a component in a file of its own. */
import { RulesTab } from "../rules/Rules";
import { endOf, kindOf, type LineDocument, rulesOf, stationOf } from "../store/document";
import { kindNamed } from "../store/kinds";
import type { Selection } from "../store/selection";
import { RunTab } from "../testmode/RunTab";
import { TestsTab } from "../testmode/TestsTab";
import { CommentCount, Comments } from "./Comments";
import { Configure } from "./Configure";
import { LineSettings } from "./LineSettings";
import type { Chosen, Tab } from "./tab";

export const TABS: readonly Tab[] = [
  { id: "configure", word: "configure", icon: "edit", shows: ({ what }) => what !== "line", component: Configure },
  {
    id: "rules",
    word: "rules",
    icon: "fork",
    shows: ({ what }) => what === "station" || what === "line",
    count: (chosen, line) =>
      (chosen.what === "station" ? [chosen.station] : line.stations).reduce(
        (sum, each) => sum + rulesOf(each).length,
        0,
      ),
    component: RulesTab,
  },
  {
    id: "settings",
    word: "settingsTab",
    icon: "settings",
    shows: ({ what }) => what === "line",
    component: LineSettings,
  },
  {
    id: "tests",
    word: "tests",
    icon: "tasks",
    shows: (chosen) => chosen.what === "line" || chosen.what === "station",
    component: TestsTab,
  },
  {
    id: "run",
    word: "runTab",
    icon: "run",
    shows: (chosen) => chosen.what === "station" && kindNamed(kindOf(chosen.station))?.alone === true,
    component: RunTab,
  },
  {
    id: "comments",
    word: "comments",
    icon: "comment",
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
