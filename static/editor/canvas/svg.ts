/** A line as SVG: pure, the same in a browser and on a server. */

import { visible } from "../../ts/visible";
import type { Picture } from "../api/line";
import { isBadge, waitsWords } from "../drawing/graph";
import { cut, fitted, widthOf } from "../drawing/text";
import type { Point, Rect } from "../drawing/types";
import { BADGE, PILL, WORDS } from "../drawing/zones";
import { say } from "../shell/words";
import {
  endOf,
  kindOf,
  type LineDocument,
  nameOf,
  type Rule,
  rulesOf,
  type Station,
  stationOf,
} from "../store/document";
import type { Findings } from "../store/findings";
import { kindName } from "../store/kinds";
import { endName } from "../store/names";
import { isHeading, placedNotes } from "../store/notes";
import { boundsOfAll, type Drawn, headsOf, pathOf } from "./drawing";
import { type Box, type Laid, START_ID } from "./layout";

/** Of words in a card. */
const INSET = 12;
const HEXAGON = "-20,0 -10,-16 10,-16 20,0 10,16 -10,16";

/** Colours of the page, by its tokens; where a file stands alone, those behind them. */
export const TONES = {
  canvas: "var(--canvas, #f9f9fb)",
  fill: "var(--shape-fill, #ffffff)",
  line: "var(--shape-line, #80838d)",
  edge: "var(--edge, #80838d)",
  text: "var(--text, #1c2024)",
  muted: "var(--muted, #60646c)",
  danger: "var(--danger-graphic, #d13415)",
  added: "var(--ok-graphic, #30a46c)",
  changed: "var(--attention-graphic, #ad5700)",
  note: "var(--attention-bg, #ffee9c)",
};
export type Tones = Readonly<Record<keyof typeof TONES, string>>;

interface Shown {
  line: LineDocument;
  laid: Laid;
  drawn: readonly Drawn[];
  findings: Findings;
  /** Marks of a comparison, by part. */
  marks?: Picture["marks"];
}

/** Words of others stay words, whatever they hold; what XML cannot hold is written out. */
const safe = (text: string): string =>
  visible(text.toWellFormed().replaceAll(/[\uFFFE\uFFFF]/g, "\uFFFD"))
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");

/** `room`: around it, with a ground; without, it is as large as the live drawing is, on the ground of the page. Each part, edge,
 * gate and rule is a group that names it, so that what is stored can be compared with its document. */
export function svgOf({ line, laid, drawn, findings, marks }: Shown, tone: Tones = TONES, room = 0): string {
  const notes = placedNotes(line, laid.boxes);
  const all = boundsOfAll([...laid.boxes, ...notes], drawn) ?? { x: 0, y: 0, width: 0, height: 0 };
  const view = [all.x - room, all.y - room, all.width + 2 * room, all.height + 2 * room];
  const group = (name: string, key: string, title: string, content: string): string =>
    `<g data-${name}="${safe(key)}"><title>${safe(title)}</title>${content}</g>`;
  const words = (text: string, x: number, y: number, size: number, more = ""): string =>
    `<text x="${x}" y="${y}" font-size="${size}" ${more}>${safe(text)}</text>`;
  const rect = ({ x, y, width, height }: Rect, radius: number, fill: string, line = tone.line): string =>
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${radius}" fill="${fill}" stroke="${line}" stroke-width="1.5"/>`;
  const toneOf = (mark: string | undefined): string | undefined =>
    mark === "removed" ? tone.danger : mark === "added" || mark === "changed" ? tone[mark] : undefined;

  const edge = (each: Drawn): string => {
    const mark = marks?.rules[each.id];
    const colour = toneOf(mark) ?? (each.state === "dead" ? tone.danger : tone.edge);
    const dashes =
      each.state === "dead" || mark === "removed"
        ? ' stroke-dasharray="5 4"'
        : each.kind === "onward"
          ? ' stroke-dasharray="2 4"'
          : "";
    const heads = headsOf(each);
    const width = each.main ? 2 : 1.25;
    const fork = each.fork ? `<circle cx="${each.fork[0]}" cy="${each.fork[1]}" r="4" fill="${colour}"/>` : "";
    const joins = each.joins.map(([x, y]) => `<circle cx="${x}" cy="${y}" r="3" fill="${colour}"/>`).join("");
    const path = `<path d="${pathOf(each)}" fill="none" stroke="${colour}" stroke-width="${width}"${dashes}/><path d="${heads}" fill="${colour}"/>`;
    return group("edge", each.id, each.title || say("start"), path + fork + joins);
  };
  const gateOf = ({ gates, gateRows }: Drawn, [x, y]: Point): string => {
    const rows = gateRows.map((row, index) => {
      const up = y - 22 - WORDS.line * (gateRows.length - 1 - index);
      return words(row, x, up, 12, 'text-anchor="middle" font-weight="500"');
    });
    const hexagon = `<polygon points="${HEXAGON}" transform="translate(${x} ${y})" fill="${tone.fill}" stroke="${tone.line}" stroke-width="1.5"/>`;
    return group("gate", gates[0]?.key ?? "", gates.map((each) => each.name).join(", "), hexagon + rows.join(""));
  };
  /** Draws how often a loop may be gone, where the live drawing says it. */
  const limitOf = ({ limit, limitAt }: Drawn): string => {
    if (!limit || !limitAt) return "";
    const [[x, y], text] = [limitAt, `↻ ${say("atMost", String(limit.most))}`];
    const width = widthOf(text, 12) + 16;
    const { height } = PILL;
    const pill = rect({ x: x - width / 2, y: y - height / 2, width, height }, height / 2, tone.fill);
    return pill + words(text, x, y + 4, 12, 'text-anchor="middle"');
  };
  const labelOf = (each: Drawn): string => {
    const at = each.labelAt;
    // Letters on a ground of their own: their edge may run behind them.
    const ground = `stroke="${tone.canvas}" stroke-width="4" paint-order="stroke"`;
    const label = at ? words(each.words, at.x + 3, at.y + 12, 12, `fill="${tone.muted}" ${ground}`) : "";
    const stubs = each.stubs.map(
      (stub) => rect(stub, 10, tone.fill) + words(cut(stub.name), stub.x + 12, stub.y + 14, 12),
    );
    const gate = each.gateAt ? gateOf(each, each.gateAt) : "";
    const endless = each.endlessAt
      ? words(
          `△ ${say("noLimit")}`,
          each.endlessAt[0],
          each.endlessAt[1] - 6,
          12,
          `text-anchor="middle" fill="${tone.danger}"`,
        )
      : "";
    return label + stubs.join("") + gate + endless + limitOf(each);
  };
  const otherwise = (station: Station, box: Box): string => {
    const port = box.ports[rulesOf(station).length];
    if (port === undefined) return "";
    const [x, y] = [box.x + box.width + port[0], box.y + port[1]];
    return (
      `<circle cx="${x}" cy="${y}" r="9" fill="${tone.fill}" stroke="${tone.line}" stroke-width="1.5" stroke-dasharray="3 3"/>` +
      `<path d="M${x - 4} ${y}h8m-3 -3l3 3l-3 3" fill="none" stroke="${tone.muted}" stroke-width="1.5"/>`
    );
  };
  const ofRule = (rule: Rule, content: string): string =>
    group("rule", rule.id, rule.label || findings.rules[rule.id]?.words || "", content);
  const portsOf = (station: Station, box: Box, retries: readonly Rule[]): string =>
    rulesOf(station)
      .map((rule, index) => {
        if (retries.includes(rule)) return "";
        const [aside, down] = box.ports[index] ?? [0, box.port];
        const [x, y] = [box.x + box.width + aside, box.y + down];
        const circle = `<circle cx="${x}" cy="${y}" r="9" fill="${tone.fill}" stroke="${tone.line}" stroke-width="1.5"/>`;
        return ofRule(rule, circle + words(String(index + 1), x, y + 4, 11, 'text-anchor="middle"'));
      })
      .join("") + otherwise(station, box);
  const part = (box: Box): string => {
    const station = stationOf(line, box.key);
    return station
      ? group("station", box.key, nameOf(station), card(box, station))
      : group("end", box.key, box.key === START_ID ? say("start") : endLabel(box.key), endOrStart(box));
  };
  const endLabel = (key: string): string => endName(endOf(line, key)?.label ?? key);
  const endOrStart = (box: Box): string => {
    const name = box.key === START_ID ? say("start") : fitted(endLabel(box.key), box.width - 2 * INSET, 13);
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2 + (box.key === START_ID ? 36 : 4)];
    return rect(box, box.height / 2, tone.fill) + words(name, x, y, 13, 'text-anchor="middle"');
  };
  const card = (box: Box, station: Station): string => {
    if (box.bar)
      return (
        `<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="2" fill="${tone.text}"/>` +
        words(cut(nameOf(station)), box.x, box.y - 24, 12, 'font-weight="600"') +
        words(waitsWords(station), box.x, box.y - 8, 12, `fill="${tone.muted}"`) +
        portsOf(station, box, [])
      );
    const right = box.x + box.width;
    const retries = (station.rules ?? []).filter((rule) => isBadge(station, rule));
    const badges = retries.map((rule, index) => {
      const [x, y] = [box.x + BADGE.first + BADGE.width * index, box.y + box.height - 10];
      const most = findings.signs.rules[rule.id]?.most;
      const number = (station.rules ?? []).indexOf(rule) + 1;
      const limit = most === undefined ? `${number} ↻` : `${number} ↻ ${say("atMost", String(most))}`;
      const pill = rect({ x, y, width: BADGE.width - 6, height: 20 }, 10, tone.fill);
      return ofRule(rule, pill + words(limit, x + 8, y + 14, 12));
    });
    const bar = station.gate
      ? `<path d="M${right - 2} ${box.y + 5}V${box.y + box.height - 5}" stroke="${tone.text}" stroke-width="4"/>`
      : "";
    const join = station.join
      ? `<path d="M${box.x - 14} ${box.y - 4}V${box.y + box.height + 4}" stroke="${tone.text}" stroke-width="4"/>`
      : "";
    return (
      rect(box, 8, tone.fill, toneOf(marks?.stations[box.key])) +
      words(kindName(kindOf(station)), box.x + INSET, box.y + 22, 12, `fill="${tone.muted}"`) +
      words(fitted(nameOf(station), box.width - 2 * INSET, 14), box.x + INSET, box.y + 40, 14, 'font-weight="600"') +
      bar +
      join +
      portsOf(station, box, retries) +
      badges.join("")
    );
  };
  const note = (each: (typeof notes)[number]): string =>
    rect(each, 4, isHeading(each) ? tone.canvas : tone.note) +
    each.text
      .split("\n")
      .map((row, index) => words(fitted(row, each.width - 2 * INSET, 13), each.x + INSET, each.y + 22 + 18 * index, 13))
      .join("");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${view.join(" ")}" width="${view[2]}" height="${view[3]}" font-family="IBM Plex Sans, system-ui, sans-serif" fill="${tone.text}">` +
    `<title>${safe(String(line.name ?? line.key ?? ""))}</title>` +
    (room > 0
      ? `<rect x="${view[0]}" y="${view[1]}" width="${view[2]}" height="${view[3]}" fill="${tone.canvas}"/>`
      : "") +
    notes.map(note).join("") +
    drawn.map(edge).join("") +
    laid.boxes.map(part).join("") +
    drawn.map(labelOf).join("") +
    "</svg>\n"
  );
}
