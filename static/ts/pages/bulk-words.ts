/** The words of one command for several tasks. */
import { filled, plural } from "../wording";

const tasks = (count: number): string => filled(plural("%s task", "%s tasks", count), [count]);

const verbs = {
  move: {
    label: "Move",
    busy: "Moved",
    note: "Votes on open reviews fall, running work is stopped. No gate is passed.",
  },
  retry: { label: "Retry", busy: "Retried", note: "The station of each runs again." },
  pause: { label: "Pause", busy: "Paused", note: "Nothing of them begins until somebody resumes it." },
  resume: { label: "Resume", busy: "Resumed", note: "They continue, unless something else holds them." },
  cancel: {
    label: "Cancel tasks",
    busy: "Cancelled",
    note: "Running work is stopped and open reviews are closed. This is final.",
  },
};

export const words = {
  verbs,
  title: (verb: keyof typeof verbs, count: number): string =>
    `${verb === "cancel" ? "Cancel" : verbs[verb].label} ${tasks(count)}`,
  planning: "Planned",
  progress: (heading: string, done: number, total: number): string => `${heading}: ${done} of ${total}`,
  plan: (able: number, total: number, votes: number, stops: number): string =>
    [
      `${able} of ${tasks(total)} can be moved.`,
      votes > 0 ? filled(plural("%s vote no longer counts.", "%s votes no longer count.", votes), [votes]) : "",
      stops > 0 ? `Running work of ${tasks(stops)} is stopped.` : "",
    ]
      .filter(Boolean)
      .join(" "),
  result: (verb: keyof typeof verbs, done: number, total: number): string =>
    `${verbs[verb].busy}: ${done} of ${tasks(total)}.`,
  breaks: "breaks a promise of its line or repository. Move it by itself to confirm that.",
  away: "The server did not answer. Look at the task before you try again.",
};
