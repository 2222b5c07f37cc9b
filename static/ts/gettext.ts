/**
 * Texts in the reader's language. Their source is English, their catalogue the domain `djangojs`, which Django's
 * JavaScriptCatalog serves and head_assets.html loads before any module (`catalogue` in
 * pipelines/templatetags/gateline.py); without one they stay English.
 */
interface Catalogue {
  gettext(text: string): string;
  ngettext(one: string, many: string, count: number): string;
}

const catalogue = (globalThis as { django?: Catalogue }).django;

export function gettext(text: string): string {
  return catalogue?.gettext(text) ?? text;
}

export function ngettext(one: string, many: string, count: number): string {
  return catalogue?.ngettext(one, many, count) ?? (count === 1 ? one : many);
}

/** A text with its places `%s` filled in, in their order. */
export function filled(text: string, inserted: readonly (string | number)[]): string {
  let index = 0;
  return text.replace(/%s/g, () => String(inserted[index++] ?? ""));
}

/** A word of a table: a text, or a function of the count that stands at its first `%s`. */
export type Word = string | ((count: number) => string);

export function worded(word: Word, inserted: readonly (string | number)[]): string {
  return filled(typeof word === "string" ? word : word(Number(inserted[0])), inserted);
}
