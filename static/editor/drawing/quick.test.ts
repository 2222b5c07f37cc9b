import { expect, it } from "vitest";
import type { LineDocument, Station } from "../store/document";
import { NOTHING } from "../store/findings";
import { graphOf } from "./graph";
import { meet } from "./moved";
import { quick } from "./quick";
import type { Rect } from "./types";
import { zoneOf } from "./zones";

it("puts the cards of a long line into rows at once, none over another", () => {
  const stations = Array.from({ length: 120 }, (_, at): Station => {
    const on = at < 119 ? `s${at + 1}` : "completed";
    const rules = [
      { id: `r${at}`, to: on, when: { result: "success" } },
      { id: `f${at}`, to: at % 5 === 4 ? `s${at - 2}` : "failed", when: { result: "failure" } },
    ];
    return { key: `s${at}`, name: `Station ${at}`, rules };
  });
  const line: LineDocument = { stations, gates: [] };
  const graph = graphOf(line, NOTHING, [1000, 750]);
  const placed = quick(graph);
  expect(placed.provisional).toBe(true);
  expect(new Set(placed.parts.map((each) => each.key)).size).toBe(graph.parts.length);
  expect(placed.rows.length).toBeGreaterThan(3);
  const at = new Map(placed.parts.map((each) => [each.key, each]));
  const zones = graph.parts.map((part): Rect => {
    const [zone, spot] = [zoneOf(part), at.get(part.key)];
    return { ...zone, x: zone.x + (spot?.x ?? 0), y: zone.y + (spot?.y ?? 0) };
  });
  const over = zones.flatMap((one, index) => zones.slice(index + 1).filter((other) => meet(one, other)));
  expect(over).toEqual([]);
});
