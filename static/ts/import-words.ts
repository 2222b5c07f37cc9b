/** The words of the page that takes documents. */
import { gettext, ngettext, worded } from "./gettext";

const WORDS = {
  documents: (n: number): string => ngettext("%s document found", "%s documents found", n),
  none: gettext("There is no document in it: .json, .yaml, .ndjson, or a folder of an assembly line."),
  many: gettext("These are more than %s files. Choose a folder further down."),
  reading: gettext("Reading…"),
  stations: (n: number): string => ngettext("%s station", "%s stations", n),
  rules: (n: number): string => ngettext("%s rule", "%s rules", n),
  gates: (n: number): string => ngettext("%s gate", "%s gates", n),
  different: (n: number): string => ngettext("%s difference from the original", "%s differences from the original", n),
  problems: (n: number): string => ngettext("Cannot be read: %s problem", "Cannot be read: %s problems", n),
  failed: gettext("It was not read. Check the connection, and try again."),
  notText: gettext("It is not text in UTF-8."),
  large: gettext("These files are larger than 2 MB together."),
  keep: (n: number): string => ngettext("Create %s line", "Create %s lines", n),
  kept: gettext("Created: %s"),
  open: gettext("Open %s"),
  line: gettext("line %s"),
};

export function say(name: keyof typeof WORDS, ...inserted: (string | number)[]): string {
  return worded(WORDS[name], inserted);
}
