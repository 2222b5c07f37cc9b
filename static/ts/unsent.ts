/**
 * Text that was typed into the forms of a page and not sent outlives the end of a session: it is kept for this tab and this
 * person, and typed again once they have signed in and the form is there. Passwords, files and what has `data-unkept` are
 * not kept; who signs out, or somebody else who signs in, ends it, and an hour without the session. A page with `data-session-ended` says that a session ended.
 */
import { each } from "./dom";
import { showFailure } from "./failures";

const PLACE = "gateline unsent";
const ENDED = "gateline session ended";
const PAUSE = 250;
/** Nobody finds it in a browser that was left. */
const HOUR = 3_600_000;

type Control = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** `purpose`: what tells forms with one target apart. `values`: in the order of the controls. `armed`: the word of an open
 * decision. */
export interface UnsentForm {
  target: string;
  purpose: string;
  values: [string, string[]][];
  armed: string;
  files: boolean;
}

interface Sent {
  elt?: Element;
  successful?: boolean;
  requestConfig?: { verb?: string };
}

interface Unsent {
  user: string;
  at: number;
  forms: UnsentForm[];
}

const VERBS = ["hx-post", "hx-put", "hx-patch", "hx-delete"];
const UNKEPT = "[type=password], [type=file], [type=hidden], [type=submit], [type=button], [data-unkept]";
/** Hidden values that say what a form is about; others are new each time the page is drawn. */
const ABOUT = /^(action|agent|do|job|key|kind|line|path|record|side|station|step|verb)$/;

/** The path that a form is sent to; "" for one that only asks. */
function targetOf(form: HTMLFormElement): string {
  const verb = VERBS.map((name) => form.getAttribute(name)).find((value) => value !== null);
  if (verb === undefined && form.method !== "post") return "";
  return new URL(verb ?? form.getAttribute("action") ?? "", location.href).pathname;
}

const controls = (form: HTMLFormElement): Control[] =>
  [...form.elements].filter(
    (each): each is Control =>
      (each instanceof HTMLInputElement || each instanceof HTMLTextAreaElement || each instanceof HTMLSelectElement) &&
      each.name !== "" &&
      !each.matches(UNKEPT),
  );

function purposeOf(form: HTMLFormElement): string {
  const hidden = [...form.elements].filter((each) => each.matches("[type=hidden][name]")) as HTMLInputElement[];
  const values = hidden.filter(({ name }) => ABOUT.test(name)).map(({ name, value }) => `${name}=${value}`);
  return [form.id, ...values].join("&");
}

function valuesOf(control: Control): string[] {
  if (control instanceof HTMLSelectElement) return [...control.selectedOptions].map(({ value }) => value);
  if (control.matches("[type=checkbox], [type=radio]"))
    return (control as HTMLInputElement).checked ? [control.value] : [];
  return [control.value];
}

/** Reads what is typed into a form and not sent yet. */
export function unsentOf(form: HTMLFormElement): UnsentForm {
  return {
    target: targetOf(form),
    purpose: purposeOf(form),
    values: controls(form).map((control) => [control.name, valuesOf(control)]),
    armed: form.querySelector<HTMLButtonElement>("[data-arm][aria-pressed=true]")?.value ?? "",
    files: form.querySelector("[type=file]") !== null,
  };
}

function setValues(control: Control, values: string[]): void {
  if (control instanceof HTMLSelectElement) {
    for (const option of control.options) option.selected = values.includes(option.value);
  } else if (control.matches("[type=checkbox], [type=radio]")) {
    (control as HTMLInputElement).checked = values.includes(control.value);
  } else {
    control.value = values[0] ?? "";
  }
}

/** Types it again, where the eye finds it: what is closed around it is opened. */
export function typeAgain(form: HTMLFormElement, { values, armed }: UnsentForm): void {
  const left = [...values];
  const changed = controls(form).filter((control) => {
    const at = left.findIndex(([name]) => name === control.name);
    const [entry] = at < 0 ? [] : left.splice(at, 1);
    if (!entry || String(valuesOf(control)) === String(entry[1])) return false;
    setValues(control, entry[1]);
    return true;
  });
  for (let around = form.parentElement; around; around = around.parentElement) {
    if (around instanceof HTMLDetailsElement) around.open = true;
    if (around instanceof HTMLDialogElement && !around.open) around.showModal();
  }
  if (armed)
    [...form.querySelectorAll<HTMLButtonElement>("[data-arm]")].find((button) => button.value === armed)?.click();
  for (const control of changed)
    for (const type of ["input", "change"]) control.dispatchEvent(new Event(type, { bubbles: true }));
}

function read(): Unsent | undefined {
  try {
    const stored = JSON.parse(sessionStorage.getItem(PLACE) ?? "null") as Partial<Unsent> | null;
    const isUnsent = typeof stored?.user === "string" && Array.isArray(stored.forms);
    return isUnsent && Date.now() - (stored.at ?? 0) < HOUR ? (stored as Unsent) : undefined;
  } catch {
    return undefined;
  }
}

/** A browser that has no room, or keeps nothing, loses only what every page loses. */
function write(name: string, value: string): void {
  try {
    if (value) sessionStorage.setItem(name, value);
    else sessionStorage.removeItem(name);
  } catch {
    // Nothing is kept.
  }
}

/** Stores what is typed when a session ends, and puts it back after the next sign-in. */
export function startUnsent(): void {
  if (document.body.dataset.sessionEnded !== undefined) {
    write(ENDED, "1");
    window.setTimeout(() => write(PLACE, ""), HOUR);
    return;
  }
  const { user } = document.documentElement.dataset;
  if (!user) return;
  const unsent = read();
  const ended = sessionStorage.getItem(ENDED) !== null;
  let waiting = ended && unsent?.user === user ? unsent.forms : [];
  const typed = new Set<HTMLFormElement>();
  let timer = 0;

  const keep = (): void => {
    window.clearTimeout(timer);
    const forms = [...[...typed].filter(({ isConnected }) => isConnected).map(unsentOf), ...waiting];
    write(PLACE, forms.length > 0 ? JSON.stringify({ user, at: Date.now(), forms } satisfies Unsent) : "");
    if (waiting.length === 0 && !document.querySelector("[data-failure=signed-out]")) write(ENDED, "");
  };
  const touched = (form: HTMLFormElement | null | undefined): void => {
    if (!form || !targetOf(form)) return;
    typed.add(form);
    window.clearTimeout(timer);
    timer = window.setTimeout(keep, PAUSE);
  };

  keep();
  for (const type of ["input", "change"]) {
    document.addEventListener(type, ({ target }) => {
      if (target instanceof Element && !target.matches(UNKEPT)) touched((target as Control).form);
    });
  }
  document.addEventListener("submit", ({ target }) => {
    if (!(target instanceof HTMLFormElement)) return;
    if (target.querySelector("[data-sign-out]")) {
      typed.clear();
      waiting = [];
    } else touched(target);
    keep();
  });
  window.addEventListener("pagehide", keep);
  document.addEventListener("gl:signed-out", () => write(ENDED, "1"));
  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt, successful, requestConfig } = (event as CustomEvent<Sent>).detail;
    const form = elt?.closest("form");
    if (successful && requestConfig?.verb !== "get" && form && typed.delete(form)) keep();
  });
  if (waiting.length === 0) return;
  each<HTMLFormElement>("form", (form) => {
    const [target, purpose] = [targetOf(form), purposeOf(form)];
    const again = target && waiting.find((kept) => kept.target === target && kept.purpose === purpose);
    if (!again) return;
    waiting = waiting.filter((kept) => kept !== again);
    typeAgain(form, again);
    touched(form);
    showFailure(again.files ? "typed-again-files" : "typed-again");
  });
}
