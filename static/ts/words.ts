/** The few words that scripts say, translated by the server (`words` in pipelines/templatetags/gateline.py). */
const ENGLISH = {
  now: "now",
  ago: "%s ago",
  ahead: "in %s",
  changed: "changed %s",
  lastUpdate: "last update %s",
  copied: "Copied",
  notCopied: "Copying is not possible here: select the text and copy it by hand.",
  armed: "%s: armed, Ctrl+Enter submits",
  connecting: "connecting",
  live: "live",
  reconnecting: "reconnecting",
  polling: "polling",
  offline: "offline",
  ended: "ended",
};

export type Words = typeof ENGLISH;

let words: Words | undefined;

export function say(name: keyof Words, inserted = ""): string {
  words ??= { ...ENGLISH, ...(JSON.parse(document.body.dataset.words ?? "{}") as Partial<Words>) };
  return words[name].replace("%s", inserted);
}
