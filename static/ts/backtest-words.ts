/** The words of the page of back-tests. */
import { filled, plural } from "./wording";

const numbers = new Intl.NumberFormat("en");

const say = (text: string, ...inserted: (string | number)[]): string =>
  filled(
    text,
    inserted.map((each) => (typeof each === "number" ? numbers.format(each) : each)),
  );

const decisions = (count: number): string => say(plural("%s decision", "%s decisions", count), count);
const tasks = (count: number): string => say(plural("%s task", "%s tasks", count), count);

/** What an effect does that leads nowhere. */
export const KINDS: Record<string, string> = {
  blocked: "stays, blocked",
  held: "on hold",
  ask: "asks an evaluation",
  escalate: "escalated",
};

export const words = {
  progress: (done: number, total: number): string => say("%s of %s", done, decisions(total)),
  finished: (total: number, of: number): string => say("Tried %s of %s.", decisions(total), tasks(of)),
  stopped: (done: number): string => say("Stopped after %s.", decisions(done)),
  nothing: "No recorded decisions in this selection. Choose an earlier date or more tasks.",
  limited: "Older decisions were left out by the limit.",
  earlier: (count: number, revision: number): string =>
    say(
      plural(
        "%s decision was recorded before revision %s of the routing rules of Gateline, which decides all of them here.",
        "%s decisions were recorded before revision %s of the routing rules of Gateline, which decides all of them here.",
        count,
      ),
      count,
      revision,
    ),
  after: (count: number): string =>
    say(
      plural(
        "%s decision comes after its task took another path: it might not have happened.",
        "%s decisions come after their task took another path: they might not have happened.",
        count,
      ),
      count,
    ),
  more: (count: number): string =>
    say(plural("%s more decision of another kind.", "%s more decisions of other kinds.", count), count),
  unknown: "cannot be known",
  refused: (at: string): string => say("refused at %s", at),
  stuck: (why: string): string => say("stuck: %s", why),
  rule: (number: string): string => say("rule %s", number),
  offline: "The connection ended before the result arrived. Try again.",
};
