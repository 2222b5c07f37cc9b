/** The words of the page that takes documents. */
import { plural, worded } from "./wording";

const WORDS = {
  documents: (n: number): string => plural("%s document found", "%s documents found", n),
  none: "There is no document in it: .json, .yaml, .ndjson, or a folder of an assembly line.",
  many: "These are more than %s files. Choose a folder further down.",
  reading: "Reading…",
  stations: (n: number): string => plural("%s station", "%s stations", n),
  rules: (n: number): string => plural("%s rule", "%s rules", n),
  gates: (n: number): string => plural("%s gate", "%s gates", n),
  different: (n: number): string => plural("%s difference from the original", "%s differences from the original", n),
  problems: (n: number): string => plural("Cannot be read: %s problem", "Cannot be read: %s problems", n),
  failed: "It was not read. Check the connection, and try again.",
  notText: "It is not text in UTF-8.",
  large: "These files are larger than 2 MB together.",
  keep: (n: number): string => plural("Create %s line", "Create %s lines", n),
  kept: "Created: %s",
  open: "Open %s",
  line: "line %s",
};

/** Fills a text of the import with values. */
export function say(name: keyof typeof WORDS, ...inserted: (string | number)[]): string {
  return worded(WORDS[name], inserted);
}
