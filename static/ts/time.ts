// Ticking times. The words are those of pipelines/templatetags/gateline.py (duration, relative):
// tests of both read the same table (tests/design/durations.json).

const NBSP = " ";

/** Writes seconds as people read them, in the words of the server. */
export function duration(value: number): string {
  const seconds = Math.trunc(Math.abs(value));
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor((seconds % 86400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const left = seconds % 60;
  if (days) return units(days, "d", hours, "h");
  if (hours) return units(hours, "h", minutes, "min");
  if (minutes) return units(minutes, "min", minutes < 10 ? left : 0, "s");
  return `${left}${NBSP}s`;
}

function units(first: number, a: string, second: number, b: string): string {
  const head = `${first}${NBSP}${a}`;
  return second ? `${head}${NBSP}${second}${NBSP}${b}` : head;
}

/** Writes the time since an instant in one unit, for where there is no room for two. */
export const about = (since: string): string => firstUnit(duration((Date.parse(since) - serverNow()) / 1000));

const firstUnit = (time: string): string => time.split(NBSP).slice(0, 2).join(NBSP);

type Say = (name: "now" | "ago" | "ahead", ...inserted: string[]) => string;

/** `ahead`: seconds from now, negative for the past. */
export function relative(ahead: number, say: Say): string {
  if (Math.abs(ahead) < 5) return say("now");
  return say(ahead > 0 ? "ahead" : "ago", duration(ahead));
}

/** The server's clock against this one, so that a wrong clock does not show wrong ages. */
let skew = 0;

/** Now by the server's clock, in milliseconds. */
export function serverNow(): number {
  return Date.now() + skew;
}

function setServerTime(header: string | null): void {
  const server = header ? Date.parse(header) : Number.NaN;
  // The Date header has whole seconds: smaller differences are no skew.
  if (!Number.isNaN(server) && Math.abs(server - Date.now()) > 2000) skew = server - Date.now();
}

function tick(say: Say): void {
  const now = serverNow();
  // A drawing has no time element: `data-at` is its instant, and `data-words` the words around the time.
  for (const element of document.querySelectorAll<HTMLElement | SVGElement>("[data-relative], [data-elapsed]")) {
    const { at, words, elapsed } = element.dataset;
    const ahead = (Date.parse(at ?? element.getAttribute("datetime") ?? "") - now) / 1000;
    if (Number.isNaN(ahead)) continue;
    const time = elapsed === undefined ? relative(ahead, say) : duration(ahead);
    const text = words ? words.replace("{time}", time).replace("{about}", firstUnit(time)) : time;
    if (element.textContent !== text) element.textContent = text;
  }
}

/** Texts that hold until an instant, and those that take their place. */
function replaceTimed(): void {
  const now = serverNow();
  for (const element of document.querySelectorAll<HTMLElement>("[data-until], [data-after]")) {
    const { until, after } = element.dataset;
    element.hidden = until === undefined ? now < Date.parse(after ?? "") : now >= Date.parse(until);
  }
}

/** Renews times and durations of the page each second, by the server's clock. */
export function startTimes(say: Say): void {
  setInterval(() => {
    if (document.hidden) return;
    tick(say);
    replaceTimed();
  }, 1000);
  document.addEventListener("htmx:afterRequest", (event) => {
    const xhr = (event as CustomEvent<{ xhr?: XMLHttpRequest }>).detail.xhr;
    if (xhr?.status) setServerTime(xhr.getResponseHeader("Date"));
  });
}
