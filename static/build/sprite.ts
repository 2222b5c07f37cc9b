import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Plugin } from "vite";

import table from "../icons.json" with { type: "json" };

const require = createRequire(import.meta.url);

const KINDS = "pipelines/routing/document/kinds";

/** Each kind of work names its drawing in its own file. */
function kindIcons(): [string, string][] {
  return readdirSync(KINDS)
    .filter((file) => file.endsWith(".py"))
    .flatMap((file): [string, string][] => {
      const source = readFileSync(`${KINDS}/${file}`, "utf8");
      const [key, icon] = [/^ {4}key="([a-z0-9_.-]+)",$/m, /^ {4}icon="([a-z0-9-]+)",$/m].map(
        (line) => line.exec(source)?.[1],
      );
      return key && icon ? [[`station-${key}`, icon]] : [];
    });
}

/** One `<symbol>` per name of static/icons.json and per kind of work, drawn by lucide-static. */
function spriteSvg(): string {
  const symbols = [...Object.entries(table), ...kindIcons()].map(([name, icon]) => symbol(name, icon));
  return `<svg xmlns="http://www.w3.org/2000/svg">\n${symbols.join("\n")}\n</svg>\n`;
}

function symbol(name: string, icon: string): string {
  const source = readFileSync(require.resolve(`lucide-static/icons/${icon}.svg`), "utf8");
  const body = source.slice(source.indexOf(">", source.indexOf("<svg")) + 1, source.lastIndexOf("</svg>"));
  return (
    `<symbol id="${name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" ` +
    `stroke-linecap="round" stroke-linejoin="round">${body.replace(/\s+/g, " ").trim()}</symbol>`
  );
}

export function sprite(): Plugin {
  return {
    name: "gateline-sprite",
    applyToEnvironment: ({ name }) => name === "client",
    generateBundle() {
      this.emitFile({
        type: "asset",
        name: "icons.svg",
        originalFileName: "static/icons.json",
        source: spriteSvg(),
      });
      this.emitFile({
        type: "asset",
        name: "favicon.svg",
        originalFileName: "static/favicon.svg",
        source: readFileSync("static/favicon.svg", "utf8"),
      });
      this.emitFile({
        type: "asset",
        name: "favicon-dot.svg",
        originalFileName: "static/favicon-dot.svg",
        source: readFileSync("static/favicon-dot.svg", "utf8"),
      });
    },
  };
}
