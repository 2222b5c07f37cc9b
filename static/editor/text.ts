/** Words on the canvas: cut to fit, and as wide as they will be before anything is drawn. */

const MOST = 24;

export const cut = (text: string): string => (text.length <= MOST ? text : `${text.slice(0, MOST - 1).trimEnd()}…`);

/** About as wide as IBM Plex Sans of this size sets it. */
export const widthOf = (text: string, size: number): number => text.length * size * 0.56;

/** `ROLLED_BACK` as a person reads it. */
export const endName = (label: string): string =>
  label === label.toUpperCase() ? label.charAt(0) + label.slice(1).toLowerCase().replaceAll("_", " ") : label;
