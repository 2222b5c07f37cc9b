import { describe, expect, it } from "vitest";

import { type Link, ranked } from "./ranks";

/** "a>b" leads from a to b by the first rule of a; each further one from there by the next rule. */
function links(...ways: string[]): Link[] {
  const count = new Map<string, number>();
  return ways.map((way) => {
    const [from = "", to = ""] = way.split(">");
    const order = count.get(from) ?? 0;
    count.set(from, order + 1);
    return { from, to, order };
  });
}
const columns = (keys: string, ...ways: string[]): string[] =>
  ranked([...keys], links(...ways)).columns.map((column) => column.join(""));

describe("columns", () => {
  it("stand as far right as the longest way to them", () => {
    expect(columns("abcd", "a>b", "b>c", "a>c", "c>d")).toEqual(["a", "b", "c", "d"]);
  });

  it("do not count what leads back", () => {
    expect(columns("abc", "a>b", "b>c", "b>a", "c>b")).toEqual(["a", "b", "c"]);
    const { forward } = ranked([..."abc"], links("a>b", "b>c", "b>a", "c>b"));
    expect(forward.map(({ from, to }) => from + to)).toEqual(["ab", "bc"]);
  });

  it("keep the branches of a fork side by side, also where a later station leads back to both", () => {
    const fork: Link[] = [
      { from: "a", to: "b", order: 0 },
      { from: "a", to: "c", order: 0 },
      { from: "b", to: "j", order: 0 },
      { from: "c", to: "j", order: 0 },
      { from: "j", to: "m", order: 0 },
      { from: "m", to: "e", order: 0 },
      { from: "m", to: "b", order: 1 },
      { from: "m", to: "c", order: 1 },
    ];
    expect(ranked([..."abcjme"], fork).columns.map((column) => column.join(""))).toEqual(["a", "bc", "j", "m", "e"]);
  });

  it("put what nothing leads to beside what it leads to", () => {
    expect(columns("abcx", "a>b", "b>c", "x>c")[1]?.split("").sort().join("")).toBe("bx");
  });

  it("have the target of the first rule on top", () => {
    expect(columns("abcd", "a>b", "a>c", "a>d")[1]).toBe("bcd");
    expect(columns("abcd", "a>d", "a>c", "a>b")[1]).toBe("dcb");
  });
});

it("does not grow out of hand with long lines", () => {
  const keys = Array.from({ length: 400 }, (_, at) => `s${at}`);
  const ways = keys.slice(1).flatMap((key, at) => [`s${at}>${key}`, `s${at}>s${Math.floor(at / 2)}`]);
  const { columns: found, forward } = ranked(keys, links(...ways));
  expect(found.flat().sort()).toEqual([...keys].sort());
  expect(forward.length).toBe(399);
});
