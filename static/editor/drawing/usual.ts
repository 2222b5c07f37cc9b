/** Which rule a task takes when all goes as it usually does: its work passes, tests ran and passed, nothing was found. */
import type { Json } from "../store/document";
import { ILL } from "./order";

/** Undefined where nobody can tell. */
type Truth = boolean | undefined;

/** How unlikely each of the conditions of a station is, in their order: the first that usually holds is taken. */
export function unlikeliness(conditions: readonly (Json | undefined)[]): number[] {
  const truths = conditions.map(holds);
  const first = truths.indexOf(true);
  return truths.map((truth, index) => (truth === false ? ILL : index === first ? 0 : 1));
}

const COUNTS_OF_ILLS =
  /(^|[._])(findings|critical|high|medium|low|errors?|failed|failures?|blockers?|violations?|skipped|new)$/;
const COUNTS =
  /(^|[._])(suites|passed|total|count|files_changed|lines_added|insertions|commits|percent|lines|coverage)$/;

/** About how much of it there is: the usual number, undefined where none is usual. */
function usualOf(path: string): number | undefined {
  const of = path.replace(/^\$?\.?(stations\.[^.]+\.)?/, "").replace(/\[.*$/, "");
  if (of.startsWith("findings.") || of.startsWith("findings")) return 0;
  return COUNTS_OF_ILLS.test(of) ? 0 : COUNTS.test(of) ? 100 : undefined;
}

const TESTS: Readonly<Record<string, (there: number, named: number) => boolean>> = {
  equals: (there, named) => there === named,
  not_equals: (there, named) => there !== named,
  gt: (there, named) => there > named,
  gte: (there, named) => there >= named,
  lt: (there, named) => there < named,
  lte: (there, named) => there <= named,
};

function holds(when: Json | undefined): Truth {
  if (Array.isArray(when)) return all(when.map(holds));
  if (when === undefined || when === null) return true;
  if (typeof when !== "object") return undefined;
  return all(Object.entries(when).map(([kind, value]) => holdsOf(kind, value)));
}

function holdsOf(kind: string, value: Json | undefined): Truth {
  const parts = Array.isArray(value) ? value : [value];
  if (kind === "result") return parts.includes("success") || parts.includes("any");
  if (kind === "verdict") return parts.includes("pass") || parts.includes("any");
  if (kind === "failure_type" || kind === "edge") return false;
  if (kind === "always") return true;
  if (kind === "all") return all(parts.map(holds));
  if (kind === "any") return opposite(all(parts.map((each) => opposite(holds(each)))));
  if (kind === "not") return opposite(holds(value));
  if (kind === "fact" || kind === "output") return holdsNumber(value);
  return undefined;
}

function holdsNumber(value: Json | undefined): Truth {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  const [there, test] = [usualOf(String(value.path ?? "")), TESTS[String(value.op)]];
  return there === undefined || typeof value.value !== "number" || !test ? undefined : test(there, value.value);
}

const opposite = (truth: Truth): Truth => (truth === undefined ? undefined : !truth);

const all = (truths: readonly Truth[]): Truth =>
  truths.includes(false) ? false : truths.includes(undefined) ? undefined : true;
