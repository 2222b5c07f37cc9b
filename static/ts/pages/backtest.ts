// The page of back-tests: reads the lines of JSON as the server sends them, shows how far it is, then what came out.
import { KINDS, words } from "../backtest-words";
import { announce } from "../dom";

interface Effect {
  kind: string;
  detail: string;
}

/** By name, for people; `rule`: its number and its label, "" where none decided. */
interface EffectWords {
  to: string[];
  rule: string;
  detail: string;
}

interface Cell {
  verdict: string;
  then: Effect;
  now: Effect | null;
  words: { station: string; then: EffectWords; now: EffectWords | null; message: string };
  count: number;
  samples: { task: string }[];
}

interface Progress {
  type: "progress";
  done: number;
  total: number;
  counts: Record<string, number>;
}

interface Result {
  type: "result";
  decisions: Record<string, number>;
  tasks: Record<string, number>;
  after_divergence: number;
  cells: Cell[];
  more_cells: number;
  limited: boolean;
  revision: number;
  of_earlier_revisions: number;
}

interface Problem {
  type?: "problem";
  detail: string;
}

type Told = Progress | Result | (Problem & { type: "problem" });

/** The server cannot go on, or was not reached; `message` is for the reader. */
class Failed extends Error {}

const numbers = new Intl.NumberFormat("en");

function start(form: HTMLFormElement, shown: HTMLElement): void {
  const stop = form.querySelector<HTMLButtonElement>("[data-stop]");
  let running: AbortController | undefined;
  let done = 0;

  const find = <T extends HTMLElement>(selector: string): T => shown.querySelector<T>(selector) as T;

  function state(text: string): void {
    find("[data-state]").textContent = text;
  }

  function counts(decisions: Record<string, number>, tasks?: Record<string, number>): void {
    for (const row of shown.querySelectorAll<HTMLElement>("[data-verdict]")) {
      const verdict = row.dataset.verdict ?? "";
      const [first, second] = [row.querySelector("[data-decisions]"), row.querySelector("[data-tasks]")];
      if (first) first.textContent = numbers.format(decisions[verdict] ?? 0);
      if (second) second.textContent = tasks ? numbers.format(tasks[verdict] ?? 0) : "–";
    }
  }

  function bar(value: number, max: number): void {
    const progress = find<HTMLProgressElement>("progress");
    progress.max = Math.max(max, 1);
    progress.value = max ? value : 1;
  }

  /** Where all of it went, at a glance; the table below says the same in numbers. */
  function shares(decisions: Record<string, number>): void {
    const total = decisions.total ?? 0;
    find("[data-shares]").hidden = !total;
    find("progress").hidden = total > 0;
    for (const part of shown.querySelectorAll<HTMLElement>("[data-share]")) {
      const share = decisions[part.dataset.share ?? ""] ?? 0;
      part.hidden = !share;
      part.style.flexGrow = String(share);
    }
  }

  function clear(): void {
    done = 0;
    shares({});
    shown.hidden = false;
    find("[data-problem]").hidden = true;
    find("[data-cells]").hidden = true;
    find("[data-notes]").replaceChildren();
    bar(0, 1);
    counts({});
    state("");
  }

  function fail(message: string): void {
    find("[data-problem-text]").textContent = message;
    find("[data-problem]").hidden = false;
    announce(message);
  }

  function progressed(told: Progress): void {
    done = told.done;
    bar(told.done, told.total);
    counts(told.counts);
    state(words.progress(told.done, told.total));
  }

  function finished(told: Result): void {
    const total = told.decisions.total ?? 0;
    bar(1, 1);
    counts(told.decisions, told.tasks);
    shares(told.decisions);
    state(total ? words.finished(total, told.tasks.total ?? 0) : words.nothing);
    announce(find("[data-state]").textContent ?? "");
    const notes = [
      told.limited ? words.limited : "",
      told.of_earlier_revisions ? words.earlier(told.of_earlier_revisions, told.revision) : "",
      told.after_divergence ? words.after(told.after_divergence) : "",
      told.more_cells ? words.more(told.more_cells) : "",
    ];
    find("[data-notes]").replaceChildren(...notes.filter(Boolean).map(paragraph));
    find("[data-cells]").hidden = !told.cells.length;
    find("[data-cells] tbody").replaceChildren(...told.cells.map(row));
  }

  function paragraph(text: string): HTMLElement {
    const message = document.createElement("p");
    message.className = "muted small";
    message.textContent = text;
    return message;
  }

  function row(cell: Cell): HTMLElement {
    const made = document.createElement("tr");
    const pill = shown.querySelector(`[data-verdict="${cell.verdict}"] .pill`)?.cloneNode(true);
    const number = column(numbers.format(cell.count));
    number.className = "numbers";
    made.append(
      pill ? column(pill) : column(cell.verdict),
      column(cell.words.station),
      effect(cell.then, cell.words.then),
      effect(cell.now, cell.words.now, cell.words.message),
      number,
      samples(cell),
    );
    return made;
  }

  function column(...inside: (string | Node)[]): HTMLElement {
    const made = document.createElement("td");
    made.append(...inside);
    return made;
  }

  function effect(found: Effect | null, named: EffectWords | null, message = ""): HTMLElement {
    const made = column(found && named ? where(found, named) : words.unknown);
    for (const text of [named?.rule ? words.rule(named.rule) : "", message]) {
      if (text) made.append(paragraph(text));
    }
    return made;
  }

  function where(found: Effect, { to, detail }: EffectWords): string {
    if (found.kind === "review") return words.refused(to.join(", "));
    if (found.kind === "stuck") return words.stuck(detail);
    return to.length && found.kind !== "held" ? `→\u00a0${to.join(" + ")}` : (KINDS[found.kind] ?? found.kind);
  }

  function samples(cell: Cell): HTMLElement {
    const made = column();
    made.className = "backtest-samples";
    for (const sample of cell.samples) {
      const link = document.createElement("a");
      link.href = (form.dataset.task ?? "").replace("WI-0-0", encodeURIComponent(sample.task));
      link.textContent = sample.task;
      made.append(made.childNodes.length ? ", " : "", link);
    }
    return made;
  }

  function told(line: Told): boolean {
    if (line.type === "problem") throw new Failed(line.detail);
    if (line.type === "progress") progressed(line);
    if (line.type === "result") finished(line);
    return line.type === "result";
  }

  async function run(): Promise<void> {
    running?.abort();
    const controller = new AbortController();
    running = controller;
    clear();
    if (stop) stop.hidden = false;
    try {
      await read(address(form), controller.signal, told, words.offline);
    } catch (fault) {
      if (controller.signal.aborted) {
        if (running === controller) state(words.stopped(done));
      } else {
        fail(fault instanceof Failed ? fault.message : words.offline);
      }
    }
    if (running === controller) {
      running = undefined;
      if (stop) stop.hidden = true;
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = new URLSearchParams(new FormData(form) as unknown as Record<string, string>);
    history.replaceState(null, "", `?${chosen.toString()}`);
    void run();
  });
  stop?.addEventListener("click", () => {
    running?.abort();
    form.querySelector<HTMLButtonElement>("[type=submit]")?.focus();
  });
  window.addEventListener("pagehide", () => running?.abort());
  if (form.dataset.starts !== undefined) void run();
}

function address(form: HTMLFormElement): string {
  const chosen = new URLSearchParams(new FormData(form) as unknown as Record<string, string>);
  chosen.set("each_task", "false");
  return `${form.dataset.backtest ?? ""}?${chosen.toString()}`;
}

/** Hands each line to `told`, until it answers that this was the last. */
async function read(url: string, signal: AbortSignal, told: (line: Told) => boolean, broken: string): Promise<void> {
  const answer = await fetch(url, { signal, headers: { Accept: "application/x-ndjson" } });
  if (!answer.headers.get("Content-Type")?.startsWith("application/x-ndjson") || !answer.body) {
    throw new Failed(await detail(answer, broken));
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Failed(broken);
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    if (lines.filter(Boolean).some((line) => told(JSON.parse(line) as Told))) return;
  }
}

async function detail(answer: Response, otherwise: string): Promise<string> {
  if (!answer.headers.get("Content-Type")?.startsWith("application/problem+json")) return otherwise;
  return ((await answer.json()) as Problem).detail;
}

const form = document.querySelector<HTMLFormElement>("form[data-backtest]");
const result = document.querySelector<HTMLElement>("[data-backtest-result]");
if (form && result) start(form, result);
