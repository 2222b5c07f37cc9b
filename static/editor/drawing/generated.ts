/** Lines that nobody would draw, for tests of the drawing: the same for the same seed. */
import type { LineDocument, Rule, Station } from "../store/document";
import { NOTHING } from "../store/findings";

/** The same numbers for the same seed. */
function numbers(seed: number): () => number {
  let state = seed + 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 8) % 65536) / 65536;
  };
}

const WORDS = ["ok", "passed", "Tests pass", "A finding of high severity", "Not a repository, or not allowed", ""];

export function generated(seed: number): LineDocument {
  const next = numbers(seed);
  const upTo = (most: number): number => Math.floor(next() * most);
  const count = 1 + upTo(12);
  const gates = [
    { key: "look", name: "A look" },
    { key: "board", name: "The board of the release" },
  ];
  const ends = [
    { key: "done", kind: "completed", label: "DONE" },
    { key: "given-up", kind: "cancelled", label: "GIVEN_UP" },
  ];
  const target = (at: number): string => {
    const pick = next();
    if (pick < 0.35) return at + 1 < count ? `s${at + 1}` : "done";
    if (pick < 0.7) return `s${upTo(count)}`;
    return ["done", "failed", "given-up", "@origin", "@blocked", "nowhere"][upTo(6)] ?? "done";
  };
  const rule = (at: number, index: number): Rule => {
    const wide = next() < 0.12;
    const to = wide
      ? [...new Set([target(at), target(at), target(at)])]
      : index === 0 && next() < 0.6
        ? at + 1 < count
          ? `s${at + 1}`
          : "done"
        : target(at);
    const label = WORDS[upTo(WORDS.length)];
    return {
      id: `r${at}-${index}`,
      to,
      ...(label ? { label } : {}),
      when: next() < 0.3 ? { result: "failure" } : next() < 0.4 ? { result: "success" } : { output: { path: "$.a" } },
      ...(next() < 0.2 ? { gates: next() < 0.3 ? ["look", "board"] : [next() < 0.5 ? "look" : "board"] } : {}),
    };
  };
  const stations = Array.from({ length: count }, (_, at): Station => {
    const rules = Array.from({ length: upTo(5) }, (_, index) => rule(at, index));
    return {
      key: `s${at}`,
      name: ["Lint", "Security review", "Implement what was planned"][upTo(3)] ?? "",
      rules,
      ...(next() < 0.12 ? { join: { wait_for: ["s0"], aggregation: "all-pass" } } : {}),
    };
  });
  return { stations, gates, ends };
}

/** As the server would say it of some rules. */
export function said(line: LineDocument, seed: number): typeof NOTHING {
  const next = numbers(seed + 7777);
  const rules = line.stations.flatMap((station) => station.rules ?? []);
  const of = (share: number) => rules.filter(() => next() < share).map((rule) => rule.id);
  // Of numbers of their own, so that all else stays as it was. Every third line has a policy that goes on.
  const more = numbers(seed + 15_551);
  const goesOn = (): boolean => seed % 3 === 1 && more() < 0.4;
  // Every third has gates that lead on what they reject.
  const rejecting = numbers(seed + 23_333);
  const anywhere = (): string => line.stations[Math.floor(rejecting() * line.stations.length)]?.key ?? "";
  const dead = { status: "dead" as const, words: "", faulty: false, why: "", example: "" };
  return {
    ...NOTHING,
    rules: Object.fromEntries(of(0.08).map((id) => [id, dead])),
    signs: { ...NOTHING.signs, rules: Object.fromEntries(of(0.3).map((id) => [id, { most: 3, words: [] }])) },
    onward: Object.fromEntries(
      line.stations.flatMap(({ key, rules }, at) =>
        (rules?.length ? !goesOn() : next() < 0.4) ? [] : [[key, line.stations[at + 1]?.key ?? "completed"]],
      ),
    ),
    rejected: seed % 3 === 2 ? { look: anywhere(), board: anywhere() } : {},
    endless: Object.fromEntries(of(0.3).map((id) => [id, ["s0"]])),
    taken: seed % 3 === 0 ? Object.fromEntries(of(0.7).map((id) => [id, Math.floor(next() * 3)])) : undefined,
  };
}
