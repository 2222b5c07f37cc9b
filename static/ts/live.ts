// The live socket (house §4 "socket gaps").
//
// A push is only a hint: {"hints": [{"task": "WI-…", "version": n}, …]}, one such object alone, or
// {"resync": true}. Nothing is drawn from it; the page fetches what changed over HTTP. So a lost hint
// costs time, never truth:
//   - first the socket is open (subscribed), then the snapshot is fetched (`gl:resync`);
//   - after every reconnect the snapshot is fetched again;
//   - while the socket does not open, the page polls every 5 s and says so;
//   - closed with 4403 (signed out, or no member any more) it ends and says so.
//
// Pages use the events, on <body>:
//   gl:resync         fetch everything again: hx-trigger="gl:resync from:body"
//   gl:changed        any task changed (within 100 ms, in a burst 800): hx-trigger="gl:changed from:body"
//   gl:task           CustomEvent, detail {task, version}: one per task and newest version
//   gl:task-<WI-…>    the same, named: hx-trigger="gl:task-WI-app-42 from:body"
//   gl:notified       something new behind the bell, or less: hx-trigger="gl:notified from:body"
//   gl:inbox          something moved: the inbox may have changed (at most every 2 s)
//   gl:live-state     detail {state}: live | reconnecting | polling | offline | ended

import { showFailure } from "./failures";
import { Gathering } from "./gathering";
import { duration } from "./time";
import { say } from "./words";

export type LiveState = "connecting" | "live" | "reconnecting" | "polling" | "offline" | "ended";

interface Hint {
  task?: string;
  /** Tells tasks of one name apart, where the hints are of several projects. */
  of?: number;
  version?: number;
}

interface Push extends Hint {
  hints?: Hint[];
  resync?: boolean;
  [other: string]: unknown;
}

interface Options {
  address: string;
  /** Called with each hint that is news. */
  onHint: (task: string, version: number) => void;
  /** Called when everything has to be fetched again. */
  onResync: () => void;
  onState: (state: LiveState) => void;
  /** Hints that are not of tasks: what a canvas gets, and `notified`. */
  onOther?: (push: Readonly<Record<string, unknown>>) => void;
  socket?: (address: string) => WebSocket;
}

const FIRST_DELAY = 500;
const LONGEST_DELAY = 15_000;
const FAILURES_UNTIL_POLLING = 3;
const POLL_MS = 5_000;
const OPEN_TIMEOUT = 8_000;
/** A socket that was accepted and dropped at once is a failure too: only one that lasted counts as good. */
const STABLE = 5_000;
const NO_LONGER = 4403;

/** Socket of an open page, which comes back by itself; until then the page asks at intervals. */
export class Live {
  private socket: WebSocket | null = null;
  private failures = 0;
  private everOpen = false;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private opening: ReturnType<typeof setTimeout> | undefined;
  private stable: ReturnType<typeof setTimeout> | undefined;
  private poll: ReturnType<typeof setInterval> | undefined;
  private stopped = false;
  private readonly seen = new Map<string, number>();
  state: LiveState = "connecting";

  constructor(private readonly options: Options) {}

  connect(): void {
    if (this.stopped || this.socket) return;
    clearTimeout(this.retry);
    const socket = this.options.socket?.(this.options.address) ?? new WebSocket(this.options.address);
    this.socket = socket;
    this.opening = setTimeout(() => socket.close(), OPEN_TIMEOUT);
    socket.addEventListener("open", () => this.opened());
    socket.addEventListener("message", (event) => this.heard(String(event.data)));
    socket.addEventListener("close", (event) => this.closed(socket, event.code));
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.retry);
    clearTimeout(this.opening);
    clearTimeout(this.stable);
    this.stopPolling();
    this.socket?.close();
  }

  /** Says something to the server, if it hears at this moment; nothing that matters is said here alone. */
  say(what: unknown): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(what));
  }

  /** The browser knows that the network is gone long before the socket does. */
  lost(): void {
    const { socket } = this;
    if (!socket) return;
    socket.close();
    this.closed(socket, 0);
  }

  private opened(): void {
    clearTimeout(this.opening);
    this.stable = setTimeout(() => {
      this.failures = 0;
    }, STABLE);
    this.everOpen = true;
    this.stopPolling();
    this.tell("live");
    // Subscribed first, then the snapshot: what happened in between is in it or comes as a hint.
    this.resync();
  }

  private heard(text: string): void {
    const push = parse(text);
    if (!push) return;
    if (push.resync) {
      this.resync();
      return;
    }
    if (push.line !== undefined || push.here !== undefined || push.notified !== undefined) {
      this.options.onOther?.(push);
      return;
    }
    for (const hint of Array.isArray(push.hints) ? push.hints : [push]) this.hinted(hint);
  }

  private hinted(hint: Hint): void {
    if (typeof hint.task !== "string" || typeof hint.version !== "number") return;
    // Hints may overtake each other: an older one than seen is no news.
    const known = `${hint.of ?? ""} ${hint.task}`;
    if ((this.seen.get(known) ?? -1) >= hint.version) return;
    this.seen.set(known, hint.version);
    this.options.onHint(hint.task, hint.version);
  }

  private resync(): void {
    this.seen.clear();
    this.options.onResync();
  }

  private closed(socket: WebSocket, code: number): void {
    if (this.socket !== socket) return;
    clearTimeout(this.opening);
    clearTimeout(this.stable);
    this.socket = null;
    if (this.stopped) return;
    if (code === NO_LONGER) {
      this.stop();
      this.tell("ended");
      return;
    }
    this.failures += 1;
    if (!navigator.onLine) this.tell("offline");
    else if (this.failures >= FAILURES_UNTIL_POLLING) this.tell("polling");
    else this.tell(this.everOpen ? "reconnecting" : "connecting");
    if (this.failures >= FAILURES_UNTIL_POLLING) this.startPolling();
    this.retry = setTimeout(() => this.connect(), backOff(this.failures));
  }

  /** The network came back, or the page came to the front: no reason to wait. */
  wake(): void {
    if (this.socket || this.stopped) return;
    this.connect();
  }

  private startPolling(): void {
    this.poll ??= setInterval(() => {
      if (!document.hidden) this.options.onResync();
    }, POLL_MS);
  }

  private stopPolling(): void {
    clearInterval(this.poll);
    this.poll = undefined;
  }

  private tell(state: LiveState): void {
    this.state = state;
    this.options.onState(state);
  }
}

function parse(text: string): Push | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Push) : null;
  } catch {
    return null;
  }
}

/** Doubles from half a second to 15 s, with jitter, so that a restart is not answered by all at once. */
function backOff(failures: number, random: () => number = Math.random): number {
  const full = Math.min(FIRST_DELAY * 2 ** (failures - 1), LONGEST_DELAY);
  return full / 2 + (full / 2) * random();
}

/** Builds the address of the socket of what a page shows. */
export function liveAddress(data: DOMStringMap, at: Location): string {
  const query = new URLSearchParams({ project: data.liveProject ?? "" });
  if (data.liveLine) query.set("line", data.liveLine);
  if (data.liveTask) query.set("task", data.liveTask);
  const scheme = at.protocol === "https:" ? "wss:" : "ws:";
  const prefix = data.livePath ?? "/live/";
  return `${scheme}//${at.host}${prefix}?${query}`;
}

const INBOX_MS = 2_000;
/** An answer that takes longer leaves what is shown older than 3 s: then the dot says so. */
const BEHIND_MS = 1_000;
/** Timers of a page in the background sleep: after so long it fetches when it comes to the front. */
const HIDDEN_MS = 30_000;

/** Connects where the page asks for it (`<body data-live-project=…>`). */
export function startLive(): void {
  const { body } = document;
  if (!body.dataset.liveProject) return;
  const view = new StateView();
  const changes = new Gathering(() => send("gl:changed"));
  let inboxWaits = false;
  const changed = (): void => {
    view.updated();
    changes.note();
  };
  const moved = (): void => {
    changed();
    if (inboxWaits) return;
    inboxWaits = true;
    setTimeout(() => {
      inboxWaits = false;
      send("gl:inbox");
    }, INBOX_MS);
  };
  watchRequests();
  watchAnswers((isBehind) => view.showBehind(isBehind));
  let opened = false;
  const resync = (): void => {
    send("gl:resync");
    // The page has just been made: only what a broken socket missed makes the number beside Inbox old.
    (opened ? moved : changed)();
    opened = true;
  };
  const live = new Live({
    address: liveAddress(body.dataset, location),
    onHint: (task, version) => {
      send("gl:task", { task, version });
      send(`gl:task-${task}`, { task, version });
      moved();
    },
    onResync: resync,
    onOther: (push) => {
      if (push.notified !== undefined) send("gl:notified");
    },
    onState: (state) => {
      view.show(state);
      if (state === "ended") showFailure("signed-out");
      send("gl:live-state", { state });
    },
  });
  window.addEventListener("online", () => live.wake());
  window.addEventListener("offline", () => live.lost());
  let hiddenAt = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      hiddenAt = Date.now();
      return;
    }
    live.wake();
    if (Date.now() - hiddenAt > HIDDEN_MS) resync();
  });
  window.addEventListener("pagehide", (event) => {
    if (!event.persisted) live.stop();
  });
  live.connect();
}

interface RequestDetail {
  elt: Element;
  target: Element;
  xhr: XMLHttpRequest;
  shouldSwap: boolean;
}

/**
 * A part that is replaced by the answer to its request takes along what waited behind that request. So what was asked
 * before the last event that it hears was sent is asked once more; what is gathered is sent to its successor. And what a
 * person asked for is not pushed aside by what repeats by itself: an answer would have no place to go to any more.
 */
function watchRequests(): void {
  const requests = new WeakMap<XMLHttpRequest, { at: number; quiet: boolean }>();
  const byPeople = new Map<string, XMLHttpRequest>();
  const byItself = new Map<string, XMLHttpRequest>();
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, target, xhr } = (event as CustomEvent<RequestDetail>).detail;
    const quiet = elt instanceof HTMLElement && elt.dataset.quiet !== undefined;
    requests.set(xhr, { at: performance.now(), quiet });
    if (target.id) (quiet ? byItself : byPeople).set(target.id, xhr);
  });
  const settling = new Map<string, number>();
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { detail } = event as CustomEvent<RequestDetail>;
    const request = requests.get(detail.xhr);
    if (!request) return;
    const { id } = detail.target;
    if (request.quiet && isUnderWay(byPeople.get(id))) detail.shouldSwap = false;
    else settling.set(id, request.at);
    // Its place goes away now: it could still put its own address into the address bar.
    if (!request.quiet) byItself.get(id)?.abort();
  });
  document.addEventListener("htmx:afterSettle", ({ target }) => {
    const part = target instanceof Element ? target : null;
    const then = settling.get(part?.id ?? "");
    settling.delete(part?.id ?? "");
    if (then !== undefined && then < lastHeard(part)) askAgain();
  });
}

/** Returns the time of the last event after which a part, or what is in it, fetches itself anew. */
function lastHeard(part: Element | null): number {
  const parts = part ? [part, ...part.querySelectorAll("[hx-trigger*='gl:']")] : [];
  const triggers = parts.map((one) => one.getAttribute("hx-trigger") ?? "").join();
  const times = [...sentAt].map(([name, at]) => (triggers.includes(name) ? at : 0));
  return Math.max(0, ...times);
}

/**
 * Tells when what follows the news by itself is late or was refused, and when it is there again; what was refused is
 * asked for once more after a while.
 */
function watchAnswers(tell: (isBehind: boolean) => void): void {
  const waited = new WeakMap<XMLHttpRequest, ReturnType<typeof setTimeout>>();
  const late = new Set<XMLHttpRequest>();
  const refused = new Set<Element>();
  let waiting = 0;
  let again: ReturnType<typeof setTimeout> | undefined;
  const note = (): void => {
    for (const place of refused) if (!place.isConnected) refused.delete(place);
    tell(late.size > 0 || refused.size > 0 || waiting > 0);
    clearTimeout(again);
    if (refused.size > 0) again = setTimeout(askAgain, POLL_MS);
  };
  document.addEventListener("htmx:beforeSend", (event) => {
    const { elt, xhr } = (event as CustomEvent<RequestDetail>).detail;
    if (!(elt instanceof HTMLElement) || elt.dataset.quiet === undefined) return;
    const timer = setTimeout(() => {
      late.add(xhr);
      note();
    }, BEHIND_MS);
    waited.set(xhr, timer);
  });
  const end = (event: Event, isRefused: boolean): void => {
    const { elt, xhr } = (event as CustomEvent<RequestDetail>).detail;
    if (!waited.has(xhr)) return;
    clearTimeout(waited.get(xhr));
    late.delete(xhr);
    if (isRefused) refused.add(elt);
    else refused.delete(elt);
    note();
  };
  document.addEventListener("htmx:afterRequest", (event) => {
    const { status } = (event as CustomEvent<RequestDetail>).detail.xhr;
    end(event, status >= 400);
  });
  // What waits until somebody has typed (items.ts)
  document.addEventListener("gl:waiting", (event) => {
    waiting = (event as CustomEvent<number>).detail;
    note();
  });
  // Nobody answered. (What a person's request pushed aside ends without this.)
  document.addEventListener("htmx:sendError", (event) => end(event, true));
}

function isUnderWay(request: XMLHttpRequest | undefined): boolean {
  const { OPENED, HEADERS_RECEIVED, LOADING } = XMLHttpRequest;
  return request !== undefined && [OPENED, HEADERS_RECEIVED, LOADING].some((state) => state === request.readyState);
}

/** Times at which each event was sent last; those of tasks together. */
const sentAt = new Map<string, number>();

function send(name: string, detail?: unknown): void {
  sentAt.set(name.startsWith("gl:task") ? "gl:task" : name, performance.now());
  dispatch(name, detail);
}

/** Has parts fetched again without news: what is on its way meanwhile is not overtaken by it, or two would go on for ever. */
function askAgain(): void {
  dispatch("gl:resync");
}

function dispatch(name: string, detail?: unknown): void {
  document.body.dispatchEvent(new CustomEvent(name, { detail }));
}

/** Keeps every `[data-live-state]` true: the word, and how old what is shown is. */
class StateView {
  private state: LiveState = "connecting";
  private last = Date.now();
  private isBehind = false;

  constructor() {
    setInterval(() => this.note(), 1000);
  }

  updated(): void {
    this.last = Date.now();
    this.note();
  }

  show(state: LiveState): void {
    this.state = state;
    const name = state === "live" && this.isBehind ? "behind" : state;
    for (const element of this.places()) {
      element.dataset.state = name;
      const word = element.querySelector(".live-word");
      if (word) word.textContent = say(name);
    }
    this.note();
  }

  showBehind(isBehind: boolean): void {
    if (this.isBehind === isBehind) return;
    this.isBehind = isBehind;
    this.show(this.state);
  }

  private note(): void {
    const text = note(this.state, (Date.now() - this.last) / 1000);
    for (const element of this.places()) {
      const place = element.querySelector(".live-note");
      if (place && place.textContent !== text) place.textContent = text;
    }
  }

  private places(): NodeListOf<HTMLElement> {
    return document.querySelectorAll<HTMLElement>("[data-live-state]");
  }
}

function note(state: LiveState, age: number): string {
  if (state === "connecting" || state === "ended") return "";
  const ago = age < 2 ? say("now") : say("ago", duration(age));
  return say(state === "live" ? "changed" : "lastUpdate", ago);
}
