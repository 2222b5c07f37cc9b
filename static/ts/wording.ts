/** Texts with places for what differs, and for how many. */
export function plural(one: string, many: string, count: number): string {
  return count === 1 ? one : many;
}

/** A text with its places `%s` filled in, in their order. */
export function filled(text: string, inserted: readonly (string | number)[]): string {
  let index = 0;
  return text.replace(/%s/g, () => String(inserted[index++] ?? ""));
}

/** A word of a table: a text, or a function of the count that stands at its first `%s`. */
export type Word = string | ((count: number) => string);

/** Fills a word of a table with values; a function gets the count first. */
export function worded(word: Word, inserted: readonly (string | number)[]): string {
  return filled(typeof word === "string" ? word : word(Number(inserted[0])), inserted);
}
