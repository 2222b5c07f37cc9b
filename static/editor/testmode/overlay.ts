/** What a test paints on the canvas: the way that was taken and where it stands, or which rules the tests cover. The
 * sheet marks it by line style besides colour, TestLayer by words and signs. */

import type { Walked, Way } from "../api/walk";
import { onwardId } from "../canvas/drawing";
import { START_ID } from "../canvas/layout";
import { edgeMark, type Marks, paint } from "../canvas/marks";
import { endsOf, type LineDocument, rulesOf, startOf, targetsOf } from "../store/document";
import type { Findings } from "../store/findings";
import type { Session } from "./session";

type Onward = Findings["onward"];

/** Words: here, been, not for stations and ends; taken, waits, not for edges; covered-… for edges of a coverage. */
export function marksOf(line: LineDocument, { open, walked, coverage, kept }: Session, onward: Onward): Marks {
  if (open && walked) return ofWalk(line, walked, onward);
  const rules = coverage ? kept?.coverage?.rules : undefined;
  return Object.fromEntries(Object.entries(rules ?? {}).map(([rule, state]) => [edgeMark(rule), `covered-${state}`]));
}

/** Whether the edge of the policy stands for a move: not for one by a gate's word or a signal, which may lead anywhere. */
export const isOnward = (onward: Onward, { rule, source, target }: Way): boolean =>
  rule === "" && onward[source] === target;

function ofWalk(line: LineDocument, walked: Walked, onward: Onward): Marks {
  const marks: Record<string, string> = {};
  const here = new Set(walked.tokens.filter((token) => !token.over).map((token) => token.station));
  const waits = new Set(walked.tokens.map((token) => token.behind.rule));
  const taken = new Set(walked.ways.map((way) => (isOnward(onward, way) ? onwardId(way.source) : way.rule)));
  const been = new Set(walked.ways.map((way) => way.target));
  const way = (id: string): string => (waits.has(id) ? "waits" : taken.has(id) ? "taken" : "not");
  for (const station of line.stations) {
    marks[station.key] = here.has(station.key) ? "here" : walked.visits[station.key] ? "been" : "not";
    marks[edgeMark(onwardId(station.key))] = way(onwardId(station.key));
    for (const rule of rulesOf(station)) marks[edgeMark(rule.id)] = way(rule.id);
  }
  for (const key of endsOf(line)) marks[key] = been.has(key) ? "been" : "not";
  if (startOf(line)) marks[edgeMark(START_ID)] = "taken";
  return marks;
}

/** The way of a task over these rules, as a test paints one; what is answered takes it back. */
export function paintWay(line: LineDocument, rules: readonly string[]): () => void {
  paint(wayMarks(line, rules));
  return () => paint();
}

/** What the rules lead to has been reached, the rest is not on the way. */
export function wayMarks(line: LineDocument, rules: readonly string[]): Marks {
  const taken = new Set(rules);
  const marks: Record<string, string> = { [edgeMark(START_ID)]: "taken" };
  const been = new Set([startOf(line)]);
  for (const station of line.stations) {
    marks[edgeMark(onwardId(station.key))] = "not";
    for (const rule of rulesOf(station)) {
      marks[edgeMark(rule.id)] = taken.has(rule.id) ? "taken" : "not";
      if (taken.has(rule.id)) for (const key of [station.key, ...targetsOf(rule)]) been.add(key);
    }
  }
  for (const key of [...line.stations.map((station) => station.key), ...endsOf(line)])
    marks[key] = been.has(key) ? "been" : "not";
  return marks;
}
