/** Rows of a form while one of their buttons waits for the server: what is typed or pressed meanwhile goes along with its
 * row, which has another number once the answer is there. */
import type { Deed } from "../api/line";
import { pressed } from "./formWrites";

/** Attributes by which a row in the page is known, and by which a field in it finds its words. */
const NAMES = ["id", "name", "aria-controls", "aria-describedby", "aria-labelledby", "aria-activedescendant"];

/** New numbers of the rows, by the old one; -1 for the one that is gone. `count`: rows before the button. */
function numbersAfter(deed: Deed, count: number): number[] {
  const numbers = [...Array(count).keys()];
  const left = pressed(numbers, deed, undefined);
  return numbers.map((was) => left.indexOf(was));
}

/** Place of a field or list after the button; undefined for one that went with its row. */
export function placeAfter(place: string, deed: Deed, count: number): string | undefined {
  const start = `${deed.rows}[`;
  const end = place.indexOf("]", start.length);
  if (!place.startsWith(start) || end < 0) return place;
  const now = numbersAfter(deed, count)[Number(place.slice(start.length, end))];
  return now === -1 ? undefined : `${start}${now ?? place.slice(start.length, end)}${place.slice(end)}`;
}

/** Another button, pressed before the answer to `deed`, as it counts after that; undefined where its row is gone. */
export function deedAfter(later: Deed, deed: Deed, count: number): Deed | undefined {
  const rows = placeAfter(later.rows, deed, count);
  if (rows === undefined) return undefined;
  if (later.rows !== deed.rows || later.do === "add") return { ...later, rows };
  const index = numbersAfter(deed, count)[later.index] ?? later.index;
  return index < 0 ? undefined : { ...later, index };
}

/** Renames the rows in the page to what the answer calls them, so that each is brought to its own row there. */
export function moveRows(form: Element, deed: Deed, count: number): void {
  const list = form.querySelector(`[data-list="${CSS.escape(deed.rows)}"]`);
  const rows = [...(list?.querySelectorAll(":scope > .ef-row-list > .ef-row") ?? [])];
  const numbers = numbersAfter(deed, count);
  for (const [was, row] of rows.entries()) {
    const now = numbers[was] ?? was;
    if (now < 0) row.remove();
    else if (now !== was) rename(row, [`${list?.id}-`, `${deed.rows}[`], was, now);
  }
}

function rename(row: Element, starts: readonly string[], was: number, now: number): void {
  const renamed = (word: string): string => {
    const start = starts.find((each) => word.startsWith(each + was) && !/^\d/.test(word.slice((each + was).length)));
    return start === undefined ? word : start + now + word.slice((start + was).length);
  };
  for (const element of [row, ...row.querySelectorAll("*")]) {
    for (const attribute of NAMES) {
      const value = element.getAttribute(attribute);
      if (value) element.setAttribute(attribute, value.split(" ").map(renamed).join(" "));
    }
  }
}
