/** The words of the scripts that every page has. */
import { gettext, worded } from "./gettext";

const WORDS = {
  now: gettext("now"),
  ago: gettext("%s ago"),
  ahead: gettext("in %s"),
  changed: gettext("changed %s"),
  lastUpdate: gettext("last update %s"),
  copied: gettext("Copied"),
  notCopied: gettext("Copying is not possible here: select the text and copy it by hand."),
  opened: gettext("%s: open, Ctrl+Enter confirms"),
  includedIn: gettext("included in %s"),
  connecting: gettext("connecting"),
  live: gettext("live"),
  reconnecting: gettext("reconnecting"),
  polling: gettext("polling"),
  offline: gettext("offline"),
  ended: gettext("ended"),
  uploaded: gettext("%s is uploaded. Choose another file to replace it."),
  uploadFacts: gettext("%s · SHA-256 %s…"),
  uploadFailed: gettext("The file was not uploaded. Try again."),
  uploadType: gettext("Choose a file of the type %s."),
  uploadLarge: gettext("The file is larger than %s MiB."),
};

export type WordName = keyof typeof WORDS;

export function say(name: WordName, ...inserted: (string | number)[]): string {
  return worded(WORDS[name], inserted);
}
