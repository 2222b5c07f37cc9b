/** On how many recorded outcomes of a station the condition of each of its rules is true, as the line is drawn now. */
import { useEffect, useState } from "react";
import type { Answer } from "../api/door";
import type { StationMatches } from "../api/line";
import type { LineDocument, Station } from "../store/document";
import type { Editor } from "../store/store";

const AFTER_EDIT = 400;

/** `unreadable`: the line has faults that keep it from being read; `away`: the server cannot be reached. */
export type Matching = { is: "asked" } | { is: "unreadable" } | { is: "away" } | { is: "told"; said: StationMatches };

/** What the last answer said stays until the next is there, of the same station. */
export function useMatching(editor: Editor, line: LineDocument, station: Station, isShown = true): Matching {
  const [matching, setMatching] = useState<Matching & { of?: string }>({ is: "asked" });
  // What the answer depends on; where a faulty line was refused, any change of it counts.
  const { key, gate: _, ...read } = station;
  const question = JSON.stringify([key, read, line.policy, line.preset, line.limits]);
  const retried = matching.is === "unreadable" ? line : undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are what the answer depends on.
  useEffect(() => {
    if (!isShown) return undefined;
    let gone = false;
    const timer = window.setTimeout(async () => {
      const answer = await editor.api.matches(editor.line, key);
      if (!gone) setMatching({ ...matchingOf(answer), of: key });
    }, AFTER_EDIT);
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, [editor, question, retried, isShown]);
  return matching.of === key ? matching : { is: "asked" };
}

function matchingOf(answer: Answer<StationMatches>): Matching {
  if (answer.is === "ok") return { is: "told", said: answer.said };
  return { is: answer.is === "refused" && answer.status === 400 ? "unreadable" : "away" };
}
