import Combobox from "@github/combobox-nav";

import { each } from "./dom";

declare global {
  interface Window {
    htmx?: {
      trigger(element: Element, name: string): void;
      ajax(verb: string, address: string, context: { target: string }): Promise<void>;
    };
  }
}

/** Something that a page itself offers in the palette, besides what the server finds. */
export interface Offer {
  label: string;
  note?: string;
  /** The keys that do the same, as people write them. */
  key?: string;
  /** A name of static/icons.json. */
  icon?: string;
  run(): void;
}

/** The detail of `gl:palette`: asked of the page whenever the words change. A page adds to `offers`. */
export interface Asked {
  words: string;
  offers: Offer[];
}

/** The command palette: what the page offers at once, what the server finds by htmx; the combobox walks both. */
export function startPalette(): void {
  each<HTMLDialogElement>("[data-palette]", (dialog) => {
    const input = dialog.querySelector<HTMLInputElement>("input[role=combobox]");
    const list = dialog.querySelector<HTMLElement>("[role=listbox]");
    const own = dialog.querySelector<HTMLElement>("[data-palette-own]");
    if (!input || !list || !own) return;
    const nav = new Combobox(input, list, { firstOptionSelectionMode: "active" });
    let offers: Offer[] = [];
    // What the server found for other words is not what Enter means: it waits for the answer to these.
    let requested = "";
    let answered = "";
    let pending = false;
    const offer = (): void => {
      offers = offered(input.value.trim());
      own.replaceChildren(...offers.map(option));
      own.hidden = offers.length === 0;
      nav.resetSelection();
    };
    dialog.addEventListener("gl:open", () => {
      input.select();
      nav.start();
      offer();
      window.htmx?.trigger(input, "gl:ask");
    });
    dialog.addEventListener("close", () => {
      pending = false;
      nav.stop();
    });
    // On its way up: the combobox itself forgets its selection at the input.
    dialog.addEventListener("input", () => {
      pending = false;
      offer();
    });
    // What Enter would take: what somebody walked to, else the first.
    const selected = (within: Element): HTMLElement | null =>
      within.querySelector('[aria-selected="true"], [data-combobox-option-default="true"]');
    dialog.addEventListener(
      "keydown",
      (event) => {
        if (event.key !== "Enter" || event.isComposing || input.value === answered || selected(own)) return;
        event.preventDefault();
        event.stopPropagation();
        pending = true;
      },
      true,
    );
    input.addEventListener("htmx:beforeRequest", () => {
      requested = input.value;
    });
    list.addEventListener("htmx:afterSwap", () => {
      answered = requested;
      // Who already walked to something that stays keeps it.
      if (!list.querySelector('[aria-selected="true"]')) nav.resetSelection();
      if (pending && input.value === answered) selected(list)?.click();
    });
    list.addEventListener("combobox-commit", (event) => {
      const result = event.target as HTMLElement;
      act(dialog, result);
      offers[Number(result.dataset.own ?? NaN)]?.run();
    });
  });
}

function offered(words: string): Offer[] {
  const question: Asked = { words, offers: [] };
  document.dispatchEvent(new CustomEvent("gl:palette", { detail: question }));
  return question.offers;
}

/** As the cotton component `option` draws one. */
function option({ label, note, key, icon }: Offer, index: number): HTMLElement {
  const made = document.createElement("div");
  made.className = "option";
  made.id = `palette-own-${index}`;
  made.setAttribute("role", "option");
  made.dataset.own = String(index);
  if (icon) made.append(drawn(icon));
  made.append(worded("span", "truncate", label));
  if (note) made.append(worded("span", "muted small push truncate", note));
  if (key) made.append(worded("kbd", note ? "key" : "key push", key));
  return made;
}

function worded(tag: string, named: string, text: string): HTMLElement {
  const made = document.createElement(tag);
  made.className = named;
  made.textContent = text;
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** From the sprite that the rest of the palette is drawn from. */
function drawn(icon: string): SVGElement {
  const sprite = document.querySelector("[data-palette] .icon use")?.getAttribute("href")?.split("#")[0] ?? "";
  const made = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({
    class: "icon",
    viewBox: "0 0 24 24",
    width: "16",
    height: "16",
    "aria-hidden": "true",
  })) {
    made.setAttribute(name, value);
  }
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${sprite}#${icon}`);
  made.append(use);
  return made;
}

/** A result is a link, or names a dialog, or clicks a control of the page (`data-click="selector"`). */
function act(dialog: HTMLDialogElement, option: HTMLElement): void {
  dialog.close();
  const { click } = option.dataset;
  if (click) document.querySelector<HTMLElement>(click)?.click();
}
