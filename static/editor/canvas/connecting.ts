/** What a list of targets offers, in its order, and where it opens. */
import type { Point } from "../drawing/types";
import { say } from "../shell/words";
import {
  ALWAYS_ENDS,
  BLOCKED,
  endOf,
  endsOf,
  kindOf,
  type LineDocument,
  ORIGIN,
  rulesOf,
  type Station,
  targetsOf,
} from "../store/document";
import { allKinds, kindIcon, kindName } from "../store/kinds";
import { partName } from "../store/names";

/** Where an edge was let go over nothing: on the screen, and on the canvas. */
export interface DropPoint {
  screen: Point;
  canvas: Point;
}

export interface Option {
  /** Key of a target, or "+station", "+end", "+kind:…". */
  key: string;
  name: string;
  note: string;
  icon: string;
  /** Only stations can be several: a fork leads to stations. */
  station: boolean;
}

const NEW_KIND = "+kind:";
const LIKELY = 3;
const USUAL: Readonly<Record<string, readonly string[]>> = {
  agent: ["command", "manual", "agent"],
  command: ["command", "agent", "manual"],
  manual: ["agent", "command", "manual"],
};
const ELSE = ["command", "agent", "manual"];

/** The kinds of new stations, what comes most often after this kind in this line first, then what usually does. */
export function likelyKinds(line: LineDocument, from: Station): string[] {
  const counts = new Map<string, number>();
  for (const station of line.stations.filter((each) => kindOf(each) === kindOf(from))) {
    for (const target of rulesOf(station).flatMap(targetsOf)) {
      const there = line.stations.find((each) => each.key === target && each !== station);
      if (there) counts.set(kindOf(there), (counts.get(kindOf(there)) ?? 0) + 1);
    }
  }
  const usual = USUAL[kindOf(from)] ?? ELSE;
  const byFrequency = [...counts].sort(([, one], [, other]) => other - one).map(([kind]) => kind);
  const known = allKinds().map((kind) => kind.key);
  return [...new Set([...byFrequency, ...usual, ...known])].filter((kind) => known.includes(kind));
}

export const freshKind = (key: string): string | undefined =>
  key.startsWith(NEW_KIND) ? key.slice(NEW_KIND.length) : undefined;

/** New stations of likely kinds, then what the station does not lead to yet, in the order of the line from there on; the
 * station itself never before another. What is searched for by name comes before what would be made. */
export function optionsFor(line: LineDocument, from: Station, search: string): Option[] {
  const term = search.trim().toLowerCase();
  const option = (key: string, note: string, icon: string, station = false): Option => ({
    key,
    name: partName(line, key),
    note,
    icon,
    station,
  });
  const reached = new Set(rulesOf(from).flatMap(targetsOf));
  const at = line.stations.indexOf(from);
  const others = [...line.stations.slice(at + 1), ...line.stations.slice(0, at)];
  const stations = [
    ...others.filter((each) => !reached.has(each.key)),
    ...others.filter((each) => reached.has(each.key)),
    from,
  ];
  const ends = [...new Set([...endsOf(line), ...ALWAYS_ENDS.map((end) => end.key)])];
  const targets = [
    ...stations.map((each) => option(each.key, kindName(kindOf(each)), kindIcon(kindOf(each)), true)),
    ...ends.map((key) => option(key, say("anEnd"), `end-${endOf(line, key)?.kind ?? "completed"}`)),
    option(ORIGIN, "", "send-back"),
    option(BLOCKED, "", "status-blocked"),
  ].filter((each) => `${each.name} ${each.key}`.toLowerCase().includes(term));
  const kinds = likelyKinds(line, from)
    .map((kind) => ({
      key: NEW_KIND + kind,
      name: kindName(kind),
      note: say("newStationShort"),
      icon: kindIcon(kind),
      station: false,
    }))
    .filter((each) => (term ? each.name.toLowerCase().includes(term) : true))
    .slice(0, LIKELY);
  const fresh = (what: "station" | "end"): Option => ({
    key: `+${what}`,
    name: term
      ? say(what === "station" ? "newStationNamed" : "newEndNamed", search.trim())
      : say(what === "station" ? "newStation" : "newEnd"),
    note: "",
    icon: "plus",
    station: false,
  });
  const made = [fresh("station"), fresh("end")];
  return term ? [...targets, ...kinds, ...made] : [...kinds, ...targets, ...made];
}

const GAP = 8;
const ROOM = 16;

/** Beside the port that it connects from, or where an edge was let go; nothing on a phone, where it stands in the middle. */
export function placeBeside(from: string, rule: string | undefined, dropped: DropPoint | undefined, size: DOMRect) {
  if (window.innerWidth < 900) return undefined;
  const node = document.querySelector(`.react-flow__node[data-id="${CSS.escape(from)}"]`);
  const port = node?.querySelector(`[data-port="${CSS.escape(rule ?? "@new")}"]`) ?? node;
  const box = port?.getBoundingClientRect();
  const [x, y] = dropped?.screen ?? (box ? [box.right, box.top + box.height / 2] : []);
  if (x === undefined || y === undefined) return undefined;
  return {
    left: Math.max(ROOM, Math.min(x + GAP, window.innerWidth - size.width - ROOM)),
    top: Math.max(ROOM, Math.min(y - 2 * ROOM, window.innerHeight - size.height - ROOM)),
  };
}
