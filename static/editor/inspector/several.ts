/** Several stations as one part: what all of them have alike, and each change of it at every one of them. */
import { say } from "../shell/words";
import type { Json, LineDocument, Station } from "../store/document";
import { type Fragment, same } from "../store/patch";
import type { Subject } from "./subjects";

/** `common`: the keys of a station that may be set at several at once. */
export function severalSubject(keys: readonly string[], common: readonly string[]): Subject {
  const fieldsOf = (station: Station): Fragment => {
    const own = station as unknown as Fragment;
    return Object.fromEntries(common.flatMap((key) => (own[key] === undefined ? [] : [[key, own[key]]])));
  };
  const fragment = (line: LineDocument): Fragment | undefined => {
    const [first, ...others] = line.stations.filter((each) => keys.includes(each.key)).map(fieldsOf);
    return first && others.reduce(alike, first);
  };
  return {
    what: "several",
    own: keys.join(" "),
    title: () => say("commonFields"),
    fragment,
    put: (line, change) => {
      const before = fragment(line) ?? {};
      const after = change(before);
      return {
        ...line,
        stations: line.stations.map((each) =>
          keys.includes(each.key)
            ? ({ ...carried(each as unknown as Fragment, before, after) } as unknown as Station)
            : each,
        ),
      };
    },
  };
}

const isFragment = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The members that are the same in both, objects member by member. */
function alike(one: Fragment, other: Fragment): Fragment {
  const fragment: Fragment = {};
  for (const [key, value] of Object.entries(one)) {
    const also = other[key];
    if (same(value, also)) fragment[key] = value;
    else if (isFragment(value) && isFragment(also)) {
      const inside = alike(value, also);
      if (Object.keys(inside).length > 0) fragment[key] = inside as Json;
    }
  }
  return fragment;
}

/** `here` with what differs between the two, member by member: what is not the same everywhere stays. */
function carried(here: Fragment, before: Fragment, after: Fragment): Fragment {
  const next: Fragment = { ...here };
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is, own] = [before[key], after[key], here[key]];
    if (same(was, is)) continue;
    const objects = [was, is].every((each) => each === undefined || isFragment(each));
    const left = objects
      ? carried(isFragment(own) ? own : {}, (was ?? {}) as Fragment, (is ?? {}) as Fragment)
      : undefined;
    const value = left ? (Object.keys(left).length > 0 ? (left as Json) : undefined) : is;
    if (value === undefined) delete next[key];
    else next[key] = value;
  }
  return next;
}
