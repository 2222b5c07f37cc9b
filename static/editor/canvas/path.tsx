/** Shows what a task did at a part of its line, over that part. */
import { createContext } from "react";
import { about } from "../../ts/time";
import { Icon } from "../shell/Icon";

/** A mark of pipelines/web/tasks/path.py. */
export interface PlaceMark {
  state: "taken" | "not" | "active" | "attention" | "danger" | "ok";
  words: string;
  since: string;
  ticking: string;
  /** Stays where there is no room for the words. */
  brief: string;
}

/** Marks of gates by the rule on which each stands. */
export const GatePath = createContext<Readonly<Record<string, PlaceMark>> | undefined>(undefined);

/** Place of the time in `brief`. */
const ABOUT = "{about}";

/** Its time goes on by itself (static/ts/time.ts): what is said anew is an element of its own. */
export function Over({ mark: { state, words, since, ticking, brief } }: { mark: PlaceMark }) {
  if (!words) return null;
  const isTimed = brief.includes(ABOUT);
  const goingOn = (template: string) => (since ? { "data-elapsed": "", "data-at": since, "data-words": template } : {});
  return (
    <span
      className="shown-over"
      data-state={state}
      data-brief={brief ? "" : undefined}
      title={since ? undefined : words}
      aria-hidden="true"
    >
      {state === "taken" ? <Icon name="check" size={12} /> : null}
      <span key={`${since} ${ticking} ${words}`} className="shown-over-words truncate" {...goingOn(ticking)}>
        {words}
      </span>
      {brief ? (
        <span key={`${since} ${brief}`} className="shown-over-brief">
          {isTimed ? <Icon name="actor-timer" size={12} /> : null}
          <span {...(isTimed ? goingOn(brief) : {})}>{brief.replace(ABOUT, about(since))}</span>
        </span>
      ) : null}
    </span>
  );
}
