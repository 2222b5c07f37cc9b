import type { Asked } from "./palette";

const MOST = 6;
/** Tasks, lines and settings: what has a project in its address. One that begins with two slashes leads to another site. */
const OF_PROJECT = /^(?!\/\/).*\/p\/[^/]+\/[^/]+\//;

type Opened = [address: string, title: string];

/** Pages opened last in this tab of the browser, which the palette offers before anything is typed. */
export function startRecent(): void {
  const reader = document.querySelector<HTMLElement>("[data-reader]")?.dataset.reader;
  if (!reader) return;
  const name = `gl-recent ${reader}`;
  const { pathname } = location;
  const before = (JSON.parse(sessionStorage.getItem(name) ?? "[]") as Opened[]).filter(([at]) => at !== pathname);
  if (OF_PROJECT.test(pathname)) {
    const opened: Opened[] = [[pathname, document.title.replace(/ · Gateline$/, "").trim()], ...before];
    sessionStorage.setItem(name, JSON.stringify(opened.slice(0, MOST)));
  }
  document.addEventListener("gl:palette", (event) => {
    const { words, offers } = (event as CustomEvent<Asked>).detail;
    if (words) return;
    for (const [at, label] of before) offers.push({ label, icon: "clock", run: () => location.assign(at) });
  });
}
