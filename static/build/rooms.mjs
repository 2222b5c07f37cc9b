// `npm run rooms`: the rooms of the editor import what static/editor/rooms.json says, and nothing else: a room whole, or
// the modules of it that are named. What is not named is closed, to a new room as well; imports of types count. The
// modules of the other pages know nothing of the editor. Prints each fault with its place.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import typescript from "typescript";

const EDITOR = "static/editor";
const TABLE = `${EDITOR}/rooms.json`;
const OTHER_PAGES = "static/ts";

const rooms = JSON.parse(readFileSync(TABLE, "utf8"));

function permitted(path, target) {
  const place = relative(EDITOR, target);
  if (place.startsWith("..")) return true;
  const [room, ...inside] = relative(EDITOR, path).split("/");
  const [other] = place.split("/");
  // `App` and `main` compose the rooms. A module of the same room is named without a way around.
  if (inside.length === 0) return true;
  if (other === room) return inside.length > 1;
  return (rooms[room] ?? []).some((name) => name === other || name === place);
}

function faults(path) {
  const text = readFileSync(path, "utf8");
  return typescript
    .preProcessFile(text)
    .importedFiles.filter(({ fileName }) => fileName.startsWith("../") && !fileName.endsWith(".css"))
    .filter(({ fileName }) => !permitted(path, join(dirname(path), fileName)))
    .map(({ fileName, pos }) => `${path}:${text.slice(0, pos).split("\n").length}: may not import ${fileName}`);
}

const refusals = [EDITOR, OTHER_PAGES]
  .flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name)))
  .filter((path) => /\.tsx?$/.test(path))
  .flatMap(faults);

if (refusals.length > 0) {
  console.error(`${refusals.join("\n")}\n\nWhich room may import which says ${TABLE}.`);
  process.exitCode = 1;
}
