// Which documents some files are, as `gateline import` sees them: a folder of an assembly line of ALP is one, else each
// file is.

export interface Named<T> {
  path: string;
  file: T;
}

/** `name`: of the file or folder. `files`: by their path in it. */
export interface Found<T> {
  name: string;
  files: Named<T>[];
}

const DOCUMENT = /\.(json|ya?ml|ndjson)$/i;
const READ = /\.(json|ya?ml|ndjson|md)$/i;
const LEFT_OUT = /(^|\/)(\.git|node_modules)\//;

/** Tells whether a file of a dropped folder is sent to be read. */
export function isRead(path: string): boolean {
  return READ.test(path) && !LEFT_OUT.test(path);
}

function above(path: string, levels: number): string {
  return path.split("/").slice(0, -levels).join("/");
}

/** The folders of assembly lines: where its head lies, else two above its stations. */
function rootsOf(paths: readonly string[]): string[] {
  const roots = new Set(paths.filter((path) => /(^|\/)assembly-line\.json$/.test(path)).map((path) => above(path, 1)));
  for (const path of paths) if (/\/[^/]+\/station\.json$/.test(`/${path}`)) roots.add(above(path, 3));
  return [...roots];
}

/** Groups files into documents: an assembly line with all that is in its folder, or one file. */
export function found<T>(given: readonly Named<T>[]): Found<T>[] {
  const read = given.filter(({ path }) => isRead(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const roots = rootsOf(read.map(({ path }) => path));
  const documents = new Map<string, Found<T>>();
  for (const { path, file } of read) {
    const root = roots.find((each) => each === "" || path.startsWith(`${each}/`));
    if (root === undefined && !DOCUMENT.test(path)) continue;
    const name = root ?? path;
    const one = documents.get(name) ?? { name, files: [] };
    const inside = root ? path.slice(root.length + 1) : path;
    one.files.push({ path: root === undefined ? (path.split("/").pop() ?? path) : inside, file });
    documents.set(name, one);
  }
  return [...documents.values()];
}
