// One command for several chosen tasks: each is told the engine by itself, with progress, a stop and a list of results.
// What was asked of the server is done; a stop only asks no more of it.
import { announce, on } from "../dom";
import { words } from "./bulk-words";

/** A row of the API, and which position of the task is meant, if it is known. */
interface Chosen {
  address: string;
  name: string;
  position?: number;
}

interface Plan {
  version: number;
  breaks: string[];
  votes: number;
  stops: string;
}

type Verb = keyof typeof words.verbs;

const AT_ONCE = 4;
const MOVES: Verb[] = ["move", "retry"];

/** Values that were chosen when the dialog opened; `work`: those that are still to be done. */
let candidates: string[] = [];
let work: Chosen[] = [];
let verb: Verb = "pause";
let stopped = false;
let planning = Promise.resolve();
/** The version of each position as its plan saw it: whoever moves it meanwhile was first. */
const planned = new Map<string, number>();

const dialog = (): HTMLDialogElement | null => document.querySelector<HTMLDialogElement>("#bulk");
const part = <T extends HTMLElement>(name: string): T => dialog()?.querySelector(`[data-bulk-${name}]`) as T;
const field = (name: string): string =>
  dialog()?.querySelector<HTMLInputElement | HTMLSelectElement>(`[name=${name}]`)?.value ?? "";

function chosenOf(value: string): Chosen {
  const [address = "", position = ""] = value.split(" ");
  const name = decodeURIComponent(address.split("/").at(-1) ?? "");
  return { address, name, ...(position ? { position: Number(position) } : {}) };
}

/** A task of several positions is paused and cancelled as one. */
function toDo(values: string[]): Chosen[] {
  const all = values.map(chosenOf);
  return MOVES.includes(verb) ? all : [...new Map(all.map((one) => [one.address, one])).values()];
}

async function open(chosen: Verb): Promise<void> {
  verb = chosen;
  planned.clear();
  const boxes = [...document.querySelectorAll<HTMLInputElement>("[data-choose]:checked")];
  candidates = boxes.map((box) => box.value);
  if (document.querySelector<HTMLInputElement>("[data-bulk-all]")?.checked) {
    candidates = (await (await fetch(`?${withFragment()}`)).json()) as string[];
  }
  work = toDo(candidates);
  part("title").textContent = words.title(verb, work.length);
  part("to").hidden = verb !== "move";
  part("note").textContent = words.verbs[verb].note;
  part("results").replaceChildren();
  part<HTMLProgressElement>("progress").hidden = true;
  show("ready");
  dialog()?.showModal();
  if (MOVES.includes(verb)) planAnew();
}

/** Plans for the station that is chosen now; a plan for an earlier one ends before. */
function planAnew(): void {
  stopped = true;
  planning = planning.then(() => {
    work = toDo(candidates);
    return plan();
  });
}

/** The address of what matches the filters of the page, as a list. */
function withFragment(): string {
  const query = new URLSearchParams(location.search);
  query.set("fragment", "chosen");
  return query.toString();
}

function show(state: "ready" | "busy" | "done"): void {
  part("start").hidden = state !== "ready";
  part("stop").hidden = state !== "busy";
  part("start").textContent = words.verbs[verb].label;
  part<HTMLButtonElement>("start").disabled = state !== "ready" || work.length === 0;
}

const key = (one: Chosen): string => `${one.address} ${one.position ?? ""}`;

/** Asks of each, at most so many at once, until it is stopped. Returns for how many. */
async function forEach(heading: string, act: (one: Chosen) => Promise<string>): Promise<number> {
  const progress = part<HTMLProgressElement>("progress");
  const queue = [...work];
  let done = 0;
  stopped = false;
  progress.hidden = false;
  progress.max = work.length;
  part("results").replaceChildren();
  const refused = new Map<string, string[]>();
  const one = async (): Promise<void> => {
    for (let next = queue.shift(); next && !stopped; next = queue.shift()) {
      const refusal = await act(next);
      if (refusal) refused.set(refusal, [...(refused.get(refusal) ?? []), next.name]);
      done += 1;
      progress.value = done;
      part("status").textContent = words.progress(heading, done, work.length);
    }
  };
  show("busy");
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  for (const [reason, names] of refused) row(names.join(", "), reason);
  return done - [...refused.values()].flat().length;
}

function row(names: string, reason: string): void {
  const item = document.createElement("li");
  const who = document.createElement("b");
  who.textContent = names;
  item.append(who, ` ${reason}`);
  part("results").append(item);
}

/** The cookie's, not the page's: who signs in again in another tab has another one. */
const csrf = (): string => /(?:^|;\s*)gateline_csrf=([^;]+)/.exec(document.cookie)?.[1] ?? "";

async function send<T>(path: string, one: Chosen, body: object): Promise<{ answer?: T; refusal: string }> {
  const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": csrf() };
  try {
    const response = await fetch(`${one.address}/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    const answer = response.status === 204 ? undefined : await response.json();
    return response.ok ? { answer, refusal: "" } : { refusal: String(answer.detail ?? words.away) };
  } catch {
    return { refusal: words.away };
  }
}

const target = (one: Chosen): object => ({
  to: verb === "move" ? field("bulk_to") : "",
  ...(one.position ? { position: one.position } : {}),
});

/** Asks what each move would do, before anything is done. */
async function plan(): Promise<void> {
  planned.clear();
  let votes = 0;
  let stops = 0;
  const able = await forEach(words.planning, async (one) => {
    const { answer, refusal } = await send<Plan>("move/plan", one, target(one));
    if (!answer) return refusal;
    if (answer.breaks.length > 0) return words.breaks;
    votes += answer.votes;
    stops += answer.stops ? 1 : 0;
    planned.set(key(one), answer.version);
    return "";
  });
  part("status").textContent = words.plan(able, work.length, votes, stops);
  announce(part("status").textContent ?? "");
  work = work.filter((one) => planned.has(key(one)));
  show("ready");
}

async function start(): Promise<void> {
  const reason = field("bulk_reason");
  const total = work.length;
  const done = await forEach(words.verbs[verb].busy, async (one) => {
    const body = MOVES.includes(verb) ? { ...target(one), version: planned.get(key(one)), reason } : { reason };
    const path = MOVES.includes(verb) ? "move" : verb;
    return (await send(path, one, verb === "resume" ? {} : body)).refusal;
  });
  part("status").textContent = words.result(verb, done, total);
  announce(part("status").textContent ?? "");
  show("done");
  document.body.dispatchEvent(new CustomEvent("gl:resync"));
}

on("click", "[data-bulk]", (button, event) => {
  event.preventDefault();
  void open(button.dataset.bulk as Verb);
});
on("click", "[data-bulk-start]", () => void start());
on("click", "[data-bulk-stop]", () => {
  stopped = true;
});
document.addEventListener("change", (event) => {
  if (event.target instanceof HTMLSelectElement && event.target.name === "bulk_to") {
    planAnew();
  }
});
document.addEventListener(
  "close",
  () => {
    stopped = true;
  },
  { capture: true },
);
