import { describe, expect, it } from "vitest";
import type { LineDocument } from "../store/document";
import { patched } from "../store/patch";
import { severalSubject } from "./several";

const LINE = {
  stations: [
    { key: "a", name: "A", limits: { max_visits: 3, max_timeout: "1h" }, gate: "look" },
    { key: "b", name: "B", limits: { max_visits: 3, idle_timeout: "5m" } },
    { key: "c", name: "C", limits: { max_visits: 9 } },
  ],
} as unknown as LineDocument;

describe("several stations as one part", () => {
  const subject = severalSubject(["a", "b"], ["limits", "gate"]);
  const become = (answered: object) =>
    subject.put(LINE, (now) => patched(now, subject.fragment(LINE) ?? {}, answered as never)).stations;

  it("holds what all have alike", () => {
    expect(subject.fragment(LINE)).toEqual({ limits: { max_visits: 3 } });
    expect(severalSubject(["a", "c"], ["limits", "gate"]).fragment(LINE)).toEqual({});
  });

  it("sets what is changed at each, and leaves the rest of each alone", () => {
    const [a, b, c] = become({ limits: { max_visits: 5 }, gate: "board" });
    expect(a).toMatchObject({ limits: { max_visits: 5, max_timeout: "1h" }, gate: "board" });
    expect(b).toMatchObject({ limits: { max_visits: 5, idle_timeout: "5m" }, gate: "board" });
    expect(c).toBe(LINE.stations[2]);
  });

  it("takes away what is cleared, and no more", () => {
    const [a, b] = become({});
    expect(a).toMatchObject({ limits: { max_timeout: "1h" }, gate: "look" });
    expect(b).toMatchObject({ limits: { idle_timeout: "5m" } });
    expect(JSON.stringify([a, b])).not.toContain("max_visits");
  });
});
