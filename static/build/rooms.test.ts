import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";

const TABLE = "static/editor/rooms.json";
const table: Record<string, string[]> = JSON.parse(readFileSync(TABLE, "utf8"));
const rooms = readdirSync("static/editor", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

/** Finds what `npm run rooms` refuses of these modules and their lines, as `path: import`; it ends with 1 if there is any. */
function refused(modules: Record<string, string[]>): string[] {
  const folder = mkdtempSync(join(tmpdir(), "rooms-"));
  for (const [path, text] of [
    ["static/ts/words.ts", []],
    [TABLE, [JSON.stringify(table)]],
    ...Object.entries(modules),
  ]) {
    mkdirSync(join(folder, dirname(path as string)), { recursive: true });
    writeFileSync(join(folder, path as string), (text as string[]).join("\n"));
  }
  const program = resolve("static/build/rooms.mjs");
  const { status, stderr } = spawnSync(process.execPath, [program], { cwd: folder, encoding: "utf8" });
  rmSync(folder, { recursive: true });
  const faults = [...stderr.matchAll(/^(\S+?):(\d+): may not import (\S+)$/gm)];
  for (const [, path, line, name] of faults) {
    expect(modules[path as string]?.[Number(line) - 1]).toContain(`"${name}"`);
  }
  expect(status).toBe(faults.length ? 1 : 0);
  return faults.map(([, path, , name]) => `${path}: ${name}`);
}

test("every room of the editor has its row", () => {
  expect(Object.keys(table).sort()).toEqual([...rooms].sort());
});

test("an import planted in any room, from any other, is refused unless its row names it", () => {
  const planted: Record<string, string[]> = {};
  const closed: string[] = [];
  const parts = Object.values(table).flat();
  for (const room of [...rooms, "attic"]) {
    const path = `static/editor/${room}/planted.ts`;
    const modules = [...rooms, "attic"].map((other) => `${other}/planted`);
    const others = new Set([...modules, ...parts.filter((name) => name.includes("/") && !name.startsWith(`${room}/`))]);
    const imports = [...others, "App", "main"];
    planted[path] = ["./own", "../../ts/words", ...imports.map((name) => `../${name}`)].map(
      (at) => `export * from "${at}";`,
    );
    const row = table[room] ?? [];
    const open = (name: string) => row.includes(name) || row.includes(dirname(name));
    closed.push(...imports.filter((name) => !open(name)).map((name) => `${path}: ../${name}`));
  }
  expect(closed.length).toBeGreaterThan(100);
  expect(refused(planted).sort()).toEqual(closed.sort());
});

test("types count, and what is loaded later; the other pages know nothing of the editor, App knows all of it", () => {
  expect(
    refused({
      "static/editor/api/planted.ts": [
        'import type { A } from "../canvas/a";',
        'export const b = import("../canvas/b");',
      ],
      "static/editor/api/more.ts": ["import {", "  c,", '} from "../store/c";', 'import "../vendor.css";'],
      "static/editor/api/deeper/planted.ts": [
        'import "../own";',
        'import "../../store/c";',
        'import "../../canvas/c";',
      ],
      "static/ts/planted.ts": ['import "../editor/store/store";', 'import "./words";'],
      "static/editor/App.tsx": ['import "./canvas/Canvas";', 'import "../ts/words";'],
    }).sort(),
  ).toEqual([
    "static/editor/api/deeper/planted.ts: ../../canvas/c",
    "static/editor/api/planted.ts: ../canvas/a",
    "static/editor/api/planted.ts: ../canvas/b",
    "static/ts/planted.ts: ../editor/store/store",
  ]);
});
