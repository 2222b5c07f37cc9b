import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Plugin } from "postcss";

const require = createRequire(import.meta.url);

/** The scales that the roles in tokens.css may use. */
const SCALES = ["slate", "indigo", "grass", "amber", "tomato"] as const;

/**
 * Writes each step of a scale as `--slate-1: light-dark(#fcfcfd, #111113)`.
 *
 * The package ships light and dark as two class-bound files; one declaration with both lets any
 * element choose its theme with `color-scheme` alone, also inside a page of the other theme.
 */
function paletteCss(): string {
  const lines = SCALES.flatMap((scale) => {
    const light = steps(scale, scale);
    const dark = steps(scale, `${scale}-dark`);
    return light.map((value, index) => `  --${scale}-${index + 1}: light-dark(${value}, ${dark[index]});`);
  });
  return `:root {\n${lines.join("\n")}\n}`;
}

function steps(scale: string, file: string): string[] {
  const css = readFileSync(require.resolve(`@radix-ui/colors/${file}.css`), "utf8");
  const colors = [...css.matchAll(new RegExp(`--${scale}-(\\d+): (#[0-9a-f]{6});`, "g"))];
  if (colors.length !== 12) throw new Error(`@radix-ui/colors/${file}.css has ${colors.length} steps, not 12`);
  return colors.map((match) => match[2] as string);
}

/** A PostCSS plugin: `@palette;` becomes the scales. (Vite's own hooks never see an imported sheet.) */
export function palette(): Plugin {
  return {
    postcssPlugin: "gateline-palette",
    AtRule: {
      palette(rule, { parse }) {
        const from = rule.source?.input.file;
        rule.replaceWith(parse(paletteCss(), { from }).nodes);
      },
    },
  };
}
