/** What the JSON Schema of the line document says about a place: keys and values that fit there, and what they mean. */
import type { Json } from "../store/document";
import type { Spot, Step } from "./context";
import { isObject, type Obj } from "./values";

export interface Fit {
  label: string;
  type: "property" | "enum" | "constant" | "class";
  detail?: string;
  info?: string;
}

/** Keys of the line's own parts, by the key under which they are named. */
type Named = Record<"stations" | "ends" | "gates" | "inputs", string[]>;

export class Schema {
  constructor(private readonly root: Obj) {}

  /** All schemas that may hold at the end of these steps. */
  at(steps: readonly Step[]): Obj[] {
    let fit = this.open(this.root);
    for (const step of steps) fit = fit.flatMap((each) => this.below(each, step));
    return fit;
  }

  keys(steps: readonly Step[]): Fit[] {
    const fits = new Map<string, Fit>();
    for (const schema of this.at(steps)) {
      const required = Array.isArray(schema.required) ? schema.required : [];
      for (const [key, value] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
        const about = this.about(value);
        const detail = required.includes(key) ? "*" : undefined;
        if (!fits.has(key))
          fits.set(key, {
            label: key,
            type: "property",
            ...(detail ? { detail } : {}),
            ...(about ? { info: about } : {}),
          });
      }
    }
    return [...fits.values()];
  }

  values(steps: readonly Step[], named: Named): Fit[] {
    const fits = new Map<string, Fit>();
    const add = (label: string, type: Fit["type"]): void => void fits.set(label, { label, type });
    for (const schema of this.at(steps)) {
      const known = Array.isArray(schema.enum)
        ? schema.enum
        : "const" in schema
          ? [schema.const as Json]
          : schema.type === "boolean"
            ? [true, false]
            : [];
      for (const value of known) add(String(value), typeof value === "string" ? "enum" : "constant");
    }
    for (const label of referred(steps, named)) add(label, "class");
    return [...fits.values()];
  }

  /** What a key means: its description, and what may stand there. */
  meaning(steps: readonly Step[]): { about: string; values: string[] } | undefined {
    const fit = this.at(steps);
    if (fit.length === 0) return undefined;
    const about = fit.map((each) => each.description).find((each) => typeof each === "string") ?? "";
    return {
      about: String(about),
      values: this.values(steps, { stations: [], ends: [], gates: [], inputs: [] }).map((each) => each.label),
    };
  }

  private about(schema: Json): string {
    return isObject(schema)
      ? String(
          this.open(schema)
            .map((each) => each.description)
            .find(Boolean) ?? "",
        )
      : "";
  }

  /** A schema with what it refers to and consists of. */
  private open(schema: Json | undefined, depth = 0): Obj[] {
    if (!isObject(schema) || depth > 8) return [];
    const more: (Json | undefined)[] = [];
    if (typeof schema.$ref === "string") more.push((this.root.$defs as Obj)[schema.$ref.replace("#/$defs/", "")]);
    for (const way of ["anyOf", "oneOf", "allOf"]) {
      const branches = schema[way];
      if (Array.isArray(branches)) more.push(...branches);
    }
    more.push(schema.then, schema.else);
    return [schema, ...more.flatMap((each) => this.open(each, depth + 1))];
  }

  private below(schema: Obj, step: Step): Obj[] {
    if (step === "[]") return this.open(schema.items);
    const property = isObject(schema.properties) ? schema.properties[step] : undefined;
    return this.open(property ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : undefined));
  }
}

/** Values that name a part of this very line. */
function referred(steps: readonly Step[], { stations, ends, gates }: Named): string[] {
  const [last, before] = [steps.at(-1), steps.at(-2)];
  const key = last === "[]" ? before : last;
  if (steps[0] !== "stations" && key !== "start" && key !== "on_reject" && key !== "forbidden_parallel") return [];
  if (key === "to") return [...stations, ...ends, "@origin", "@blocked"];
  if (key === "start" || key === "from" || key === "wait_for" || key === "forbidden_parallel") return stations;
  if (key === "gate" || key === "gates") return gates;
  return [];
}

export function namesOf(line: Obj): Named {
  const keys = (list: Json | undefined): string[] =>
    Array.isArray(list)
      ? list.flatMap((each) => (isObject(each) && typeof each.key === "string" ? [each.key] : []))
      : [];
  return {
    stations: keys(line.stations),
    ends: [...keys(line.ends), "completed", "failed", "cancelled"],
    gates: keys(line.gates),
    inputs: keys(line.inputs),
  };
}

/** The place of a key that the cursor is on: its steps with its own name. */
export const stepsOfKey = (spot: Spot, key: string): Step[] => [...spot.steps, key];
