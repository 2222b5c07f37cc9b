import { existsSync, readdirSync } from "node:fs";

import { type BuildEnvironment, defineConfig } from "vite";

import { palette } from "./static/build/palette.ts";
import { sprite } from "./static/build/sprite.ts";

const PAGES = "static/ts/pages";

/** A page that needs a module of its own puts it into static/ts/pages and asks for `{% vite "pages/<name>" %}`. */
function ownModules(): Record<string, string> {
  const files = existsSync(PAGES) ? readdirSync(PAGES).filter((file) => file.endsWith(".ts")) : [];
  return Object.fromEntries(files.map((file) => [`pages-${file.slice(0, -3)}`, `${PAGES}/${file}`]));
}

// One build for every page. Django finds the files by static/dist/manifest.json
// (pipelines/templatetags/gateline.py); all addresses inside are relative, so a path prefix works.
export default defineConfig({
  base: "./",
  publicDir: false,
  plugins: [sprite()],
  css: { postcss: { plugins: [palette()] } },
  build: {
    outDir: "static/dist",
    emptyOutDir: true,
    manifest: "manifest.json",
    // light-dark() carries the themes: a lower target would have it rewritten, and nested themes with it.
    target: ["chrome123", "edge123", "firefox128", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // What draws lines on a server, in one file beside (pipelines/work/drawing.py starts it).
  environments: {
    client: {
      build: {
        rolldownOptions: {
          input: {
            shell: "static/ts/shell.ts",
            board: "static/ts/board.ts",
            editor: "static/editor/main.tsx",
            "editor-shown": "static/editor/shown/main.tsx",
            ...ownModules(),
          },
        },
      },
    },
    drawing: {
      consumer: "server",
      resolve: { noExternal: true },
      build: {
        outDir: "static/dist/server",
        emptyOutDir: false,
        manifest: false,
        target: "node20",
        rolldownOptions: {
          input: { drawing: "static/editor/shown/server.ts" },
          output: { entryFileNames: "[name].mjs" },
        },
      },
    },
  },
  builder: {
    async buildApp({ build, environments }) {
      for (const name of ["client", "drawing"]) await build(environments[name] as BuildEnvironment);
    },
  },
});
