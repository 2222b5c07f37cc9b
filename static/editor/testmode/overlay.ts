/** What a test paints on the canvas: the way that was taken and where it stands, or which rules the tests cover. The
 * sheet marks it by line style besides colour, TestLayer by words and signs. */

import type { Walked } from "../api/walk";
import { onwardId } from "../canvas/drawing";
import { START_ID } from "../canvas/layout";
import { edgeMark, type Marks, paint } from "../canvas/marks";
import { rejectedId } from "../drawing/graph";
import { endsOf, type LineDocument, rulesOf, type Station, startOf } from "../store/document";
import type { Way } from "../store/findings";
import type { Session } from "./session";

/** Words: here, been, not for stations and ends; taken, waits, not for edges; covered-… for edges of a coverage. */
export function marksOf(line: LineDocument, { open, walked, coverage, kept }: Session): Marks {
  if (open && walked) return ofWalk(line, walked);
  const rules = coverage ? kept?.coverage?.rules : undefined;
  return Object.fromEntries(Object.entries(rules ?? {}).map(([rule, state]) => [edgeMark(rule), `covered-${state}`]));
}

/** All edges that may leave a station. */
const edgesAt = (station: Station): string[] => [
  onwardId(station.key),
  ...rulesOf(station).flatMap(({ id }) => [id, rejectedId(id)]),
];

function ofWalk(line: LineDocument, walked: Walked): Marks {
  const marks: Record<string, string> = {};
  const here = new Set(walked.tokens.filter((token) => !token.over).map((token) => token.station));
  const waits = new Set(walked.tokens.map((token) => token.behind.rule));
  // A rule that leads back to an origin is taken, though its edge leads to a pill.
  const walkedWays = new Set(walked.ways.flatMap(({ edge, rule }) => [edge, rule]));
  const been = new Set(walked.ways.map((way) => way.target));
  const way = (id: string): string => (waits.has(id) ? "waits" : walkedWays.has(id) ? "taken" : "not");
  for (const station of line.stations) {
    marks[station.key] = here.has(station.key) ? "here" : walked.visits[station.key] ? "been" : "not";
    for (const edge of edgesAt(station)) marks[edgeMark(edge)] = way(edge);
  }
  for (const key of endsOf(line)) marks[key] = been.has(key) ? "been" : "not";
  if (startOf(line)) marks[edgeMark(START_ID)] = "taken";
  return marks;
}

/** The way of a task by these moves, as a test paints one; what is answered takes it back. */
export function paintWay(line: LineDocument, ways: readonly Way[]): () => void {
  paint(wayMarks(line, ways));
  return () => paint();
}

/** Where they lead has been reached, the rest is not on the way. */
export function wayMarks(line: LineDocument, ways: readonly Way[]): Marks {
  const walkedWays = new Set(ways.flatMap(({ edge, rule }) => [edge, rule]));
  const marks: Record<string, string> = { [edgeMark(START_ID)]: "taken" };
  const been = new Set([startOf(line), ...ways.flatMap(({ source, target }) => [source, target])]);
  for (const station of line.stations)
    for (const edge of edgesAt(station)) marks[edgeMark(edge)] = walkedWays.has(edge) ? "taken" : "not";
  for (const key of [...line.stations.map((station) => station.key), ...endsOf(line)])
    marks[key] = been.has(key) ? "been" : "not";
  return marks;
}
