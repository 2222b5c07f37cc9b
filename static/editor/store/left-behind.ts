/** Names of a part by the key that it had, once all else names it by the new one. */
import { type Json, type LineDocument, nameOf, rulesOf } from "./document";
import { escaped, FIXED, firstOf, inPlaces, inputsOf, inTexts, isObject, variablesOf } from "./references";

const FIELD = /^(facts\.stations|(output|meta)\.branches)\./;
const HEADS: { [kind: string]: RegExp } = { station: /^(\.|edge_count:)/, input: /^(\.|input\.|var:)/ };

/** Lists them, each behind the name of the part that says it. */
export function leftBehind(line: LineDocument, kind: string, from: string): string[] {
  const key = new RegExp(`(?<![\\w-])${escaped(from)}(_error)?(?![\\w-])`);
  const left = [...placesIn(line, kind), ...(kind === "station" ? pathsIn(line) : [])].filter(([, text]) =>
    key.test(text),
  );
  if (kind === "gate")
    for (const { id, never, after } of line.guarantees ?? [])
      if ([never?.reach, never?.without, after?.gate].includes(from)) left.push([String(id), from]);
  return [...new Set(left.map(([owner, text]) => `${owner}: ${text}`))];
}

type Place = [owner: string, text: string];

/** Templates that look a station or an input up. */
function placesIn(line: LineDocument, kind: string): Place[] {
  const places: Place[] = [];
  const others = [...variablesOf(line), ...(kind === "station" ? [...inputsOf(line), ...FIXED] : [])];
  const look = (owner: string, value: unknown): void => {
    const read = inPlaces((inner) => {
      if (HEADS[kind]?.test(inner) && !others.includes(firstOf(inner.slice(1)))) places.push([owner, `{{${inner}}}`]);
      return inner;
    });
    inTexts((value ?? null) as Json, read);
  };
  for (const station of line.stations) look(nameOf(station), station.work);
  look(String(line.name ?? line.key ?? ""), line.workspace);
  return places;
}

/** Paths of facts, those of the output at a join, and fields of checks. */
function pathsIn(line: LineDocument): Place[] {
  const places: Place[] = [];
  const look = (owner: string, value: unknown, roots: { [form: string]: string }, root = ""): void => {
    if (Array.isArray(value)) for (const member of value) look(owner, member, roots, root);
    if (!isObject(value)) return;
    for (const [key, member] of Object.entries(value)) {
      if (key !== "path") look(owner, member, roots, roots[key] ?? root);
      else if (typeof member === "string" && root && (member.includes(root) || /\.\.|\*/.test(member)))
        places.push([owner, member]);
    }
  };
  for (const station of line.stations) {
    const roots: { [form: string]: string } = { fact: "stations", ...(station.join ? { output: "branches" } : {}) };
    for (const { when, compose } of rulesOf(station))
      look(nameOf(station), { when: when ?? null, output: compose ?? null }, roots);
  }
  for (const gate of line.gates ?? [])
    inTexts([gate.checks ?? null, gate.sample ?? null] as Json, (text) => {
      if (FIELD.test(text)) places.push([String(gate.name ?? gate.key), text]);
      return text;
    });
  return places;
}
