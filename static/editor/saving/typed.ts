/** What is typed and not sent yet, kept in the browser: it outlives a reload, a crash and a server that is away. */
import { useCallback, useState } from "react";

/** Name of what this person alone typed: whoever else signs in on this browser sees nothing of it. */
const place = (name: string): string =>
  `gateline typed ${document.documentElement.dataset.user ?? ""} ${location.pathname} ${name}`;

/** Texts for which the browser had no room; only these are lost with the page. */
const unkept = new Set<string>();

window.addEventListener("beforeunload", (event) => {
  if (unkept.size > 0) event.preventDefault();
});

export function typed(name: string): string {
  try {
    return localStorage.getItem(place(name)) ?? "";
  } catch {
    return "";
  }
}

/** What was typed into the fields of the form of this name and never reached the document. */
export function fieldsTyped(name: string): [string, string[]][] {
  try {
    const fields: unknown = JSON.parse(typed(name) || "[]");
    const isField = (each: unknown): each is [string, string[]] =>
      Array.isArray(each) &&
      typeof each[0] === "string" &&
      Array.isArray(each[1]) &&
      each[1].every((value) => typeof value === "string");
    return Array.isArray(fields) ? fields.filter(isField) : [];
  } catch {
    return [];
  }
}

export function keepTyped(name: string, text: string): void {
  try {
    unkept.delete(name);
    if (text) localStorage.setItem(place(name), text);
    else localStorage.removeItem(place(name));
  } catch {
    if (text) unkept.add(name);
  }
}

/** Like useState for the text of a field with this name; "" forgets it. */
export function useTyped(name: string, first = ""): [string, (text: string) => void] {
  const [known, setKnown] = useState({ name, text: typed(name) || first });
  // Another name is another field: what was typed there.
  const now = known.name === name ? known : { name, text: typed(name) || first };
  if (now !== known) setKnown(now);
  const set = useCallback(
    (text: string) => {
      setKnown({ name, text });
      keepTyped(name, text);
    },
    [name],
  );
  return [now.text, set];
}
