/** Where in a document a place of its text stands, by the text alone: it is asked while something is being typed, when
 * the text can hardly be read. */
export type Step = string | "[]";

export interface Spot {
  /** From the document down to the object or list around the place. */
  steps: Step[];
  /** Tells whether a key or a value is written here. */
  at: "key" | "value";
  /** Where the word under the cursor begins. */
  from: number;
  /** The keys that stand beside it already. */
  beside: string[];
}

interface Mark {
  column: number;
  /** Of a key; none for the dash of a list. */
  key?: string;
}

const KEY =
  /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^']|'')*)'|([^\s#,[\]{}&*!|>'"%@`-][^#,[\]{}]*?|-[^\s#,[\]{}][^#,[\]{}]*?))\s*:(?=\s|$)/;

/** `before`: the text up to the cursor; `after`: the rest of its line. */
export function spotOf(before: string, after = ""): Spot {
  const lines = before.split("\n");
  const line = lines.pop() ?? "";
  const { marks, rest } = marksOf(line);
  const word = /[\w@$.-]*$/.exec(rest.text)?.[0] ?? "";
  const column = rest.column;
  const open = brackets(rest.text);
  const last = marks.at(-1);
  const behindKey = last?.key !== undefined && (rest.text !== "" || /:\s+$/.test(line));
  const at = open ? open.at : behindKey ? "value" : "key";
  const inner = at === "key" && !open ? column : (last?.column ?? column) + 1;
  const outer = above(
    lines,
    marks.filter((mark) => mark.column < inner),
    inner,
  );
  const steps = [...outer, ...(open?.steps ?? [])];
  const neighbours = open ? open.beside : at === "key" ? keysBeside(lines, after, column) : [];
  return { steps, at, from: before.length - word.length, beside: neighbours };
}

/** The dashes and the key at the beginning of a line, and what stands behind them. */
function marksOf(line: string): { marks: Mark[]; rest: { text: string; column: number } } {
  const marks: Mark[] = [];
  let column = line.length - line.trimStart().length;
  for (;;) {
    const text = line.slice(column);
    const dash = /^-(\s+|$)/.exec(text);
    if (dash) {
      marks.push({ column });
      column += dash[0].length;
      continue;
    }
    const key = KEY.exec(text);
    if (!key) return { marks, rest: { text, column } };
    marks.push({ column, key: key[1] ?? key[2] ?? key[3] ?? "" });
    const behind = text.slice(key[0].length);
    return { marks, rest: { text: behind.trimStart(), column: line.length - behind.trimStart().length } };
  }
}

/** The way down to what begins at this column, read from the lines above it. */
function above(lines: string[], own: Mark[], column: number): Step[] {
  const steps: Step[] = [];
  let least = column;
  let inList = false;
  const take = (marks: Mark[]): void => {
    for (const mark of [...marks].reverse()) {
      if (mark.column > least || (mark.column === least && !(inList && mark.key !== undefined))) continue;
      steps.unshift(mark.key ?? "[]");
      least = mark.column;
      inList = mark.key === undefined;
    }
  };
  take(own);
  for (let index = lines.length - 1; index >= 0 && (least > 0 || inList); index -= 1) {
    const line = lines[index] ?? "";
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    take(marksOf(line).marks);
  }
  return steps;
}

function keysBeside(lines: string[], _after: string, column: number): string[] {
  const openBrackets: string[] = [];
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const line = lines[index] ?? "";
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
    const { marks } = marksOf(line);
    const neighbour = marks.find((mark) => mark.column === column && mark.key !== undefined);
    if (neighbour?.key) openBrackets.push(neighbour.key);
    const least = marks[0]?.column ?? 0;
    if (least < column) break;
  }
  return openBrackets;
}

/** The braces that are open at the end of a text, from outside in. */
function brackets(text: string): { steps: Step[]; at: "key" | "value"; beside: string[] } | undefined {
  const open: { list: boolean; key: string; keys: string[]; word: string; behind: boolean }[] = [];
  for (let index = 0; index < text.length; index += 1) {
    const sign = text[index] as string;
    const top = open.at(-1);
    if (sign === '"' || sign === "'") {
      const end = text.indexOf(sign, index + 1);
      if (end < 0) break;
      if (top) top.word += text.slice(index + 1, end);
      index = end;
    } else if (sign === "{" || sign === "[") {
      open.push({ list: sign === "[", key: "", keys: [], word: "", behind: false });
    } else if (sign === "}" || sign === "]") {
      open.pop();
    } else if (top && sign === ":" && !top.list && /\s|^$/.test(text[index + 1] ?? "")) {
      top.key = top.word.trim();
      top.keys.push(top.key);
      top.behind = true;
      top.word = "";
    } else if (top && sign === ",") {
      top.behind = false;
      top.word = "";
    } else if (top) {
      top.word += sign;
    } else if (sign === "#") {
      return undefined;
    }
  }
  const inmost = open.at(-1);
  if (!inmost) return undefined;
  const steps = open.flatMap((each): Step[] => (each.list ? ["[]"] : each.behind ? [each.key] : []));
  return { steps, at: inmost.list || inmost.behind ? "value" : "key", beside: inmost.keys };
}
