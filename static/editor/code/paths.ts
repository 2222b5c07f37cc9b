/** Paths of parts of a document, as findings name them. */

/** From, to: places in the text, counted in UTF-16 units from 0. */
export type Place = readonly [number, number];
/** By path: `stations[0].rules[1].when`. A member of an object begins at its key. */
export type Places = Record<string, Place>;

const ascii = (text: string): string =>
  JSON.stringify(text).replace(/[\x7f-\uffff]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);

export function join(path: string, step: string | number): string {
  if (typeof step === "number") return `${path}[${step}]`;
  if (!/^[A-Za-z_@][A-Za-z0-9_-]*$/.test(step)) return `${path}[${ascii(step)}]`;
  return path ? `${path}.${step}` : step;
}

/** The path itself, or the nearest part around it that has a place. */
export function nearest(path: string, places: Places): string {
  let nearestPath = path;
  while (nearestPath && !Object.hasOwn(places, nearestPath))
    nearestPath = nearestPath.replace(/(?:\[(?:"(?:[^"\\]|\\.)*"|\d+)\]|\.?[^.[]+)$/, "");
  return nearestPath;
}
