/** Shows what a task did at a part of its line, over that part. */
import { createContext } from "react";
import { Icon } from "../shell/Icon";

/** A mark of pipelines/web/tasks/path.py. */
export interface PlaceMark {
  state: "taken" | "not" | "active" | "attention" | "danger" | "ok";
  words: string;
  since: string;
  ticking: string;
}

/** Marks of gates by the rule on which each stands. */
export const GatePath = createContext<Readonly<Record<string, PlaceMark>> | undefined>(undefined);

/** Its time goes on by itself (static/ts/time.ts): what is said anew is an element of its own. */
export function Over({ mark: { state, words, since, ticking } }: { mark: PlaceMark }) {
  if (!words) return null;
  const going = since ? { "data-elapsed": "", "data-at": since, "data-words": ticking } : {};
  return (
    <span className="shown-over" data-state={state} title={since ? undefined : words} aria-hidden="true">
      {state === "taken" ? <Icon name="check" size={12} /> : null}
      <span key={`${since} ${ticking} ${words}`} className="truncate" {...going}>
        {words}
      </span>
    </span>
  );
}
