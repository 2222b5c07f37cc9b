import { defineConfig } from "vite";

import { palette } from "./static/build/palette.ts";
import { sprite } from "./static/build/sprite.ts";

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
    rolldownOptions: {
      input: {
        shell: "static/ts/shell.ts",
        board: "static/ts/board.ts",
      },
    },
  },
});
