import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Plugin } from "vite";

import table from "../icons.json" with { type: "json" };

const require = createRequire(import.meta.url);

/** One `<symbol>` per name of static/icons.json, drawn by lucide-static. */
function spriteSvg(): string {
  const symbols = Object.entries(table).map(([name, icon]) => symbol(name, icon));
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
    },
  };
}
