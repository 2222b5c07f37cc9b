/**
 * The words of the page of back-tests. Texts stand in files that hold nothing else: xgettext reads TypeScript as
 * JavaScript, and loses its way in generic functions and in JSX.
 */
import { filled, gettext, ngettext } from "./gettext";

const numbers = new Intl.NumberFormat(document.documentElement.lang || "en");

const say = (text: string, ...inserted: (string | number)[]): string =>
  filled(
    text,
    inserted.map((each) => (typeof each === "number" ? numbers.format(each) : each)),
  );

const decisions = (count: number): string => say(ngettext("%s decision", "%s decisions", count), count);
const tasks = (count: number): string => say(ngettext("%s task", "%s tasks", count), count);

/** What an effect does that leads nowhere. */
export const KINDS: Record<string, string> = {
  blocked: gettext("stays, blocked"),
  held: gettext("on hold"),
  ask: gettext("asks an evaluation"),
  escalate: gettext("escalated"),
};

export const words = {
  progress: (done: number, total: number): string => say(gettext("%s of %s"), done, decisions(total)),
  finished: (total: number, of: number): string => say(gettext("Tried %s of %s."), decisions(total), tasks(of)),
  stopped: (done: number): string => say(gettext("Stopped after %s."), decisions(done)),
  nothing: gettext("No recorded decisions in this selection. Choose an earlier date or more tasks."),
  limited: gettext("Older decisions were left out by the limit."),
  earlier: (count: number, revision: number): string =>
    say(
      ngettext(
        "%s decision was recorded before revision %s of the routing rules of Gateline, which decides all of them here.",
        "%s decisions were recorded before revision %s of the routing rules of Gateline, which decides all of them here.",
        count,
      ),
      count,
      revision,
    ),
  after: (count: number): string =>
    say(
      ngettext(
        "%s decision comes after its task took another path: it might not have happened.",
        "%s decisions come after their task took another path: they might not have happened.",
        count,
      ),
      count,
    ),
  more: (count: number): string =>
    say(ngettext("%s more decision of another kind.", "%s more decisions of other kinds.", count), count),
  unknown: gettext("cannot be known"),
  refused: (at: string): string => say(gettext("refused at %s"), at),
  stuck: (why: string): string => say(gettext("stuck: %s"), why),
  rule: (number: string): string => say(gettext("rule %s"), number),
  offline: gettext("The connection ended before the result arrived. Try again."),
};
