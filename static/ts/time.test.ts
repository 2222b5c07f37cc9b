import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

import { duration, relative } from "./time";
import { say } from "./words";

/** The server says the same of the same table: tests/design/test_times.py. */
interface Cases {
  durations: [number, string][];
  ages: [number, string][];
}
const { durations, ages } = JSON.parse(readFileSync("tests/design/durations.json", "utf8")) as Cases;

const plain = (text: string): string => text.replaceAll("\u00a0", " ");
it.each(durations)("a duration of %d s is %s", (seconds, said) => {
  expect(plain(duration(seconds))).toBe(said);
});

it.each(ages)("%d s from now is %s", (ahead, said) => {
  expect(plain(relative(ahead, say))).toBe(said);
});
