// Charts of Insights: each is drawn from the table in its own card, so that both have the same numbers. Colours are
// those of the card's legend, which our tokens give; a change of theme draws them anew. Nothing is animated.
import "uplot/dist/uPlot.min.css";
import uPlot from "uplot";

import { on } from "../dom";
import { duration } from "../time";

type Unit = "count" | "seconds" | "usd" | "share" | "minutes";

interface Series {
  label: string;
  unit: Unit;
  bars: boolean;
  dashed: boolean;
  colour: string;
  values: (number | null)[];
  texts: string[];
}

interface Chart {
  labels: string[];
  marks: (string | undefined)[];
  series: Series[];
  whole: string;
}

const HEIGHT = 200;
const LEFT_EDGE = 8;

const AXIS: Record<Unit, (value: number) => string> = {
  count: (value) => value.toLocaleString("en"),
  seconds: (value) => duration(value),
  usd: (value) => `$${value.toLocaleString("en")}`,
  share: (value) => `${Math.round(value * 100)}%`,
  minutes: (value) => `${value} min`,
};

/** Steps of an axis that people count in: seconds to days, whole numbers otherwise. */
const STEPS: Partial<Record<Unit, number[]>> = {
  count: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000],
  seconds: [1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 432800, 864000],
};

function readChart(card: HTMLElement): Chart {
  const heads = [...card.querySelectorAll<HTMLElement>("thead th")];
  const rows = [...card.querySelectorAll<HTMLElement>("tbody tr:not(.table-total)")];
  const swatches = [...card.querySelectorAll<HTMLElement>(".legend .series")];
  const drawn = heads.flatMap((head, place) => (head.dataset.series === undefined ? [] : [{ head, place }]));
  const series = drawn.map(({ head, place }, number) => {
    const cells = rows.map((row) => row.children[place] as HTMLElement);
    const [kind = "line", tone = ""] = (head.dataset.series ?? "").split(" ");
    return {
      label: head.textContent.trim(),
      unit: head.dataset.unit as Unit,
      bars: kind === "bar",
      dashed: tone !== "active",
      colour: getComputedStyle(swatches[number] as HTMLElement, "::before").borderTopColor,
      values: cells.map((cell) => (cell.dataset.value ? Number(cell.dataset.value) : null)),
      texts: cells.map((cell) => cell.textContent.trim()),
    };
  });
  const total = card.querySelector<HTMLElement>(".table-total");
  const sums = drawn.map(
    ({ head, place }) => `${head.textContent.trim()} ${total?.children[place]?.textContent.trim()}`,
  );
  return {
    labels: rows.map((row) => row.querySelector("th")?.firstChild?.textContent?.trim() ?? ""),
    marks: rows.map((row) => row.dataset.mark),
    series,
    whole: `All: ${sums.join(" · ")}`,
  };
}

function hatch(context: CanvasRenderingContext2D, colour: string): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const brush = tile.getContext("2d");
  if (!brush) return colour;
  brush.strokeStyle = colour;
  brush.lineWidth = 1.5;
  brush.beginPath();
  for (const shift of [-6, 0, 6]) {
    brush.moveTo(shift, 6);
    brush.lineTo(shift + 6, 0);
  }
  brush.stroke();
  return context.createPattern(tile, "repeat") ?? colour;
}

/** Bars stand on each other: the last one is drawn first, up to the sum of all. */
function stacked(series: Series[]): { shown: Series; heights: (number | null)[] }[] {
  const sums = (upto: number): (number | null)[] =>
    (series[0]?.values ?? []).map((_value, row) => {
      const known = series.slice(0, upto + 1).map((each) => each.values[row] ?? 0);
      return known.reduce((sum, value) => sum + value, 0) || null;
    });
  return series.map((shown, place) => ({ shown, heights: shown.bars ? sums(place) : shown.values })).reverse();
}

function options(chart: Chart, card: HTMLElement, width: number): uPlot.Options {
  const style = getComputedStyle(card);
  const ink = getComputedStyle(card.querySelector(".card-foot") ?? card).color;
  const rule = style.borderTopColor;
  const font = `12px ${style.fontFamily}`;
  const unit = chart.series[0]?.unit ?? "count";
  const readout = card.querySelector<HTMLElement>(".chart-readout");
  const say = (place: number | null | undefined): void => {
    if (!readout) return;
    if (place === null || place === undefined) {
      readout.textContent = chart.whole;
      return;
    }
    const parts = chart.series.map((each) => `${each.label} ${each.texts[place]}`);
    const mark = chart.marks[place];
    readout.textContent = [chart.labels[place], ...parts, ...(mark ? [`${mark} published`] : [])].join(" · ");
  };
  const steps = STEPS[unit];
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { time: false, range: [-0.6, chart.labels.length - 0.4] },
      y: { range: (_plot, _least, most) => [0, unit === "share" ? 1 : (most || 1) * 1.12] },
    },
    axes: [
      {
        stroke: ink,
        font,
        grid: { show: false },
        ticks: { show: false },
        size: 28,
        incrs: [1, 2, 3, 5, 7, 10, 14, 20, 28],
        space: 64,
        values: (_plot, places) => places.map((place) => chart.labels[place] ?? ""),
      },
      {
        stroke: ink,
        font,
        size: 58,
        grid: { stroke: rule, width: 1 },
        ticks: { show: false },
        ...(steps ? { incrs: steps } : {}),
        values: (_plot, values) => values.map((value) => AXIS[unit](value)),
      },
    ],
    series: [
      {},
      ...stacked(chart.series).map(({ shown }) => ({
        label: shown.label,
        stroke: shown.colour,
        width: shown.bars ? 1 : 1.5,
        spanGaps: true,
        points: { show: !shown.bars && chart.labels.length < 60, size: 4, fill: shown.colour },
        ...(shown.bars ? bars(shown) : {}),
        ...(shown.dashed && !shown.bars ? { dash: [5, 4] } : {}),
      })),
    ],
    hooks: {
      init: [() => say(null)],
      setCursor: [(plot) => say(plot.cursor.idx)],
      draw: [(plot) => drawMarks(plot, chart, ink, font)],
    },
  };
}

function bars(shown: Series): Partial<uPlot.Series> {
  return {
    paths: uPlot.paths.bars?.({ size: [0.62, 28], align: 0 }) as uPlot.Series.PathBuilder,
    fill: (plot) => (shown.dashed ? (hatch(plot.ctx, shown.colour) as string) : shown.colour),
  };
}

/** A line where versions were published; its name where it has room beside the one before. */
function drawMarks(plot: uPlot, chart: Chart, ink: string, font: string): void {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  let free = bbox.left;
  ctx.save();
  ctx.strokeStyle = ink;
  ctx.fillStyle = ink;
  ctx.lineWidth = scale;
  ctx.font = font.replace("12px", `${11 * scale}px`);
  ctx.textBaseline = "top";
  ctx.setLineDash([2 * scale, 3 * scale]);
  for (const [place, mark] of chart.marks.entries()) {
    if (!mark) continue;
    const x = Math.round(plot.valToPos(place, "x", true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const name = mark.split(", ").length > 1 ? `${mark.split(", ").length} versions` : mark;
    const long = ctx.measureText(name).width;
    const right = x + LEFT_EDGE + long > bbox.left + bbox.width;
    const start = right ? x - 4 * scale - long : x + 4 * scale;
    if (start < free) continue;
    ctx.fillText(name, start, bbox.top + 2 * scale);
    free = start + long + LEFT_EDGE * scale;
  }
  ctx.restore();
}

const drawn = new Map<HTMLElement, uPlot>();

function draw(card: HTMLElement): void {
  const place = card.querySelector<HTMLElement>(".chart-plot");
  if (!place || place.clientWidth === 0) return;
  drawn.get(card)?.destroy();
  const chart = readChart(card);
  const data = [chart.labels.map((_label, row) => row), ...stacked(chart.series).map(({ heights }) => heights)];
  const plot = new uPlot(options(chart, card, place.clientWidth), data as uPlot.AlignedData, place);
  drawn.set(card, plot);
}

const cards = [...document.querySelectorAll<HTMLElement>(".chart")];
const drawAll = (): void => cards.forEach(draw);

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const card = target.closest<HTMLElement>(".chart");
    if (card && drawn.get(card)?.width !== target.clientWidth) draw(card);
  }
});
for (const card of cards) {
  const place = card.querySelector<HTMLElement>(".chart-plot");
  if (place) sizes.observe(place);
}
// Fonts change how wide the labels are.
void document.fonts.ready.then(drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
new MutationObserver(drawAll).observe(document.documentElement, { attributeFilter: ["data-theme"] });

on("click", "[data-table-toggle]", (button) => {
  const isTable = button.closest(".chart")?.toggleAttribute("data-as-table") ?? false;
  button.setAttribute("aria-pressed", String(isTable));
});

for (const card of cards) {
  card.querySelector(".chart-plot")?.addEventListener("keydown", (event) => {
    const { key } = event as KeyboardEvent;
    const plot = drawn.get(card);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!plot || step === undefined) return;
    event.preventDefault();
    const last = plot.data[0].length - 1;
    const from = plot.cursor.idx ?? (step > 0 ? -1 : last + 1);
    const place = Math.min(last, Math.max(0, from + step));
    plot.setCursor({ left: plot.valToPos(place, "x"), top: 0 });
  });
}
