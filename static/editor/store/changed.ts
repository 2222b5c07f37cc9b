/** What of a line is other than it was, part by part, in the words of the page. */

import { say } from "../shell/words";
import { type LineDocument, nameOf, type Station } from "./document";
import { same } from "./merge";

const MOST = 3;

type Part = { key: string; name?: string; label?: string };

/** The parts that changed from `here` to `now`, at most a few by name. */
export function changedParts(here: LineDocument, now: LineDocument): string[] {
  const changed = [
    ...parts(here.stations, now.stations, (each) => nameOf(each as Station)),
    ...parts(here.gates, now.gates, (each) => say("gateNamed", each.name || each.key)),
    ...parts(here.ends, now.ends, (each) => say("endNamed", each.label || each.key)),
    ...rest(here, now),
  ];
  return changed.length > MOST + 1
    ? [...changed.slice(0, MOST), say("andMore", String(changed.length - MOST))]
    : changed;
}

function parts(before: readonly Part[] = [], after: readonly Part[] = [], name: (part: Part) => string): string[] {
  const known = new Map(before.map((each) => [each.key, each]));
  const left = new Set(after.map((each) => each.key));
  const changed = after.flatMap((each) => {
    const was = known.get(each.key);
    if (!was) return [say("partAdded", name(each))];
    return same(was as never, each as never) ? [] : [name(each)];
  });
  return [...changed, ...before.flatMap((each) => (left.has(each.key) ? [] : [say("partGone", name(each))]))];
}

/** The line itself, the order of its stations, and where things stand. */
function rest(before: LineDocument, after: LineDocument): string[] {
  const { stations: _a, gates: _b, ends: _c, extra: wasThere, ...was } = before;
  const { stations: _d, gates: _e, ends: _f, extra: isThere, ...is } = after;
  const orderOf = (line: LineDocument, other: LineDocument): string =>
    JSON.stringify(
      line.stations.map((each) => each.key).filter((key) => other.stations.some((each) => each.key === key)),
    );
  return [
    ...(same(was as never, is as never) ? [] : [say("partLine")]),
    ...(orderOf(before, after) === orderOf(after, before) ? [] : [say("partOrder")]),
    ...(same(wasThere as never, isThere as never) ? [] : [say("partPlaces")]),
  ];
}
