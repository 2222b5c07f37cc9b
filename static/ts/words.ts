/** The words of the scripts that every page has. */
import { worded } from "./wording";

const WORDS = {
  now: "now",
  ago: "%s ago",
  ahead: "in %s",
  changed: "changed %s",
  lastUpdate: "last update %s",
  copied: "Copied",
  notCopied: "Copying is not possible here: select the text and copy it by hand.",
  opened: "%s: open, Ctrl+Enter confirms",
  includedIn: "included in %s",
  connecting: "connecting",
  live: "live",
  behind: "catching up",
  reconnecting: "reconnecting",
  polling: "polling",
  offline: "offline",
  ended: "ended",
  uploaded: "%s is uploaded. Choose another file to replace it.",
  uploadFacts: "%s · SHA-256 %s…",
  uploadFailed: "The file was not uploaded. Try again.",
  uploadType: "Choose a file of the type %s.",
  uploadLarge: "The file is larger than %s MiB.",
};

export type WordName = keyof typeof WORDS;

/** Fills a text of the pages with values. */
export function say(name: WordName, ...inserted: (string | number)[]): string {
  return worded(WORDS[name], inserted);
}
