// `npm run tokens`: raw colours and sizes stand in static/css/tokens.css and nowhere else; templates carry
// no styles and no scripts of their own; the lock file names no address. Prints every fault with its place.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const TOKENS = "static/css/tokens.css";
const COLOUR_WORDS =
  "white|black|red|green|blue|yellow|orange|purple|pink|brown|gr[ae]y|silver|navy|teal|gold|crimson|tomato|indigo";
const COLOUR_PROPERTY =
  /^(?:.*-)?(?:color|background|background-color|fill|stroke|border(?:-[a-z-]+)?|outline|box-shadow)$/;

const RAW_COLOUR = /#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|color-mix|light-dark)\(/i;
const PALETTE = /var\(--(?:slate|indigo|grass|amber|tomato)-\d+\)/;
const RAW_SIZE = /(?<![\w#-])-?(?:\d*\.)?\d+(?:px|r?em|ch|ex|pt|pc|cm|mm|in|m?s)\b/i;
const QUERY = /^@(?:media|container)/;

/** What the sheets may use although it has a unit: proportions of the type itself. */
const ALLOWED = new Set(["text-underline-offset: 0.2em"]);

const files = (folder, ending) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !path.includes("static/dist/"));

const blank = (text) => text.replace(/[^\n]/g, " ");
const faults = [];
const fault = (path, line, what) => faults.push(`${path}:${line}: ${what}`);

const tokens = readFileSync(TOKENS, "utf8");
const breakpoints = new Set((tokens.match(/Breakpoints[\s\S]*?\*\//)?.[0] ?? "").match(/[\d.]+rem/g));
const defined = new Set([...tokens.matchAll(/^\s*(--[\w-]+):/gm)].map((match) => match[1]));

for (const path of files("static/css", /\.css$/)) {
  if (path === TOKENS) continue;
  const lines = readFileSync(path, "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, blank)
    .split("\n");
  for (const [index, text] of lines.entries()) checkLine(path, index + 1, text.trim());
}

function checkLine(path, number, text) {
  if (text.startsWith("@import") || ALLOWED.has(text.replace(/;$/, ""))) return;
  if (QUERY.test(text)) {
    for (const size of text.match(/[\d.]+(?:px|r?em)/g) ?? []) {
      if (!breakpoints.has(size)) fault(path, number, `breakpoint ${size} is not listed in tokens.css`);
    }
    return;
  }
  if (RAW_COLOUR.test(text)) fault(path, number, `raw colour: ${text}`);
  if (PALETTE.test(text)) fault(path, number, `palette used without a role: ${text}`);
  if (RAW_SIZE.test(text)) fault(path, number, `raw size: ${text}`);
  const [property, value = ""] = text.split(/:(.*)/s);
  if (COLOUR_PROPERTY.test(property) && new RegExp(`(?<![\\w-])(?:${COLOUR_WORDS})(?![\\w-])`, "i").test(value)) {
    fault(path, number, `named colour: ${text}`);
  }
  for (const [, name] of text.matchAll(/var\((--[\w-]+)/g)) {
    if (!defined.has(name)) fault(path, number, `${name} is not in tokens.css`);
  }
}

for (const path of files("templates", /\.html$/)) {
  // Mail readers know no style sheets: a mail carries its tones inlined.
  if (/\/e?mail\//.test(path)) continue;
  const html = readFileSync(path, "utf8").replace(/\{% comment %\}[\s\S]*?\{% endcomment %\}/g, blank);
  html.split("\n").forEach((text, index) => {
    if (/\sstyle\s*=/.test(text)) fault(path, index + 1, "style=: the policy of the pages forbids it, use a class");
    if (/<style[\s>]/.test(text)) fault(path, index + 1, "<style>: put it into static/css");
    if (/<script(?![^>]*\ssrc=)/.test(text)) fault(path, index + 1, "inline <script>: put it into static/ts");
    if (/\son[a-z]+\s*=\s*"/.test(text)) fault(path, index + 1, "an inline handler: put it into static/ts");
    if (/\b(?:fill|stroke|stop-color)="(?!none|currentColor)[^"{]/.test(text)) {
      fault(path, index + 1, "a raw colour in SVG: use a class");
    }
  });
}

const lock = readFileSync("package-lock.json", "utf8").split("\n");
lock.forEach((text, index) => {
  if (/https?:/.test(text)) fault("package-lock.json", index + 1, "an address: run `npm run lock`");
});

if (faults.length > 0) {
  console.error(faults.join("\n"));
  console.error(`\n${faults.length} to repair: raw values belong into ${TOKENS} as a token or a role.`);
  process.exit(1);
}
console.log(`Tokens: ${defined.size} tokens and roles, nothing raw outside ${TOKENS}.`);
