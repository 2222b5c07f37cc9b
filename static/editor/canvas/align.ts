/** What is chosen, set in line or at equal distances. */
import { say } from "../shell/words";
import type { Command } from "../store/commands";
import { movedTo } from "../store/commands-canvas";
import type { LineDocument, Positions } from "../store/document";
import { isHeading, noteKey, notesOf } from "../store/notes";
import { laidOut } from "./laid";

export type Alignment = "left" | "top" | "across" | "down";

/** Sets what is chosen in line, or at equal distances. */
export function align(line: LineDocument, keys: readonly string[], how: Alignment): Command {
  const boxes = [
    ...laidOut(line).boxes.filter((box) => keys.includes(box.key)),
    ...notesOf(line).flatMap((note) => {
      // A heading has its place from what it stands over.
      if (isHeading(note)) return [];
      const id = keys.find((key) => noteKey(key) === note.key);
      return id ? [{ ...note, key: id }] : [];
    }),
  ];
  const places: Positions = {};
  const put = (key: string, x: number, y: number): void => {
    places[key] = [Math.round(x), Math.round(y)];
  };
  if (how === "left" || how === "top") {
    const [x, y] = [Math.min(...boxes.map((box) => box.x)), Math.min(...boxes.map((box) => box.y))];
    for (const box of boxes) put(box.key, how === "left" ? x : box.x, how === "top" ? y : box.y);
  } else {
    const across = how === "across";
    const order = [...boxes].sort((a, b) => (across ? a.x - b.x : a.y - b.y));
    const [first, last] = [order[0], order.at(-1)];
    if (first && last) {
      const size = (box: (typeof order)[number]): number => (across ? box.width : box.height);
      const begin = across ? first.x : first.y;
      const room = (across ? last.x : last.y) + size(last) - begin - order.reduce((sum, box) => sum + size(box), 0);
      let at = begin;
      for (const box of order) {
        put(box.key, across ? at : box.x, across ? box.y : at);
        at += size(box) + room / (order.length - 1);
      }
    }
  }
  return { ...movedTo(places), label: say(`align_${how}`) };
}
