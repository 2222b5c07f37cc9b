import Combobox from "@github/combobox-nav";

import { each } from "./dom";

/** An input with a list below: options of the page are filtered here, others come by htmx. */
export function startCombobox(): void {
  each<HTMLElement>("[data-combobox]", (root) => {
    const input = root.querySelector<HTMLInputElement>("input[role=combobox]");
    const value = root.querySelector<HTMLInputElement>("input[type=hidden]");
    const list = root.querySelector<HTMLElement>("[role=listbox]");
    if (input && value && list) connect(root, input, value, list);
  });
}

function connect(root: HTMLElement, input: HTMLInputElement, value: HTMLInputElement, list: HTMLElement): void {
  const nav = new Combobox(input, list, { firstOptionSelectionMode: "active" });
  const remote = input.hasAttribute("hx-get");
  let chosen = input.value;

  const show = (): void => {
    if (!list.hidden) return;
    list.hidden = false;
    nav.start();
  };
  const hide = (): void => {
    if (list.hidden) return;
    list.hidden = true;
    nav.stop();
  };
  const filter = (): void => {
    const typed = input.value === chosen ? "" : input.value.toLowerCase();
    for (const option of list.querySelectorAll<HTMLElement>("[role=option]")) {
      option.hidden = !(option.textContent ?? "").toLowerCase().includes(typed);
    }
  };

  input.addEventListener("focus", show);
  input.addEventListener("click", show);
  input.addEventListener("input", () => {
    show();
    if (!remote) filter();
    nav.clearSelection();
    if (root.dataset.free !== undefined) value.value = input.value;
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      event.stopPropagation();
      event.preventDefault();
      hide();
    }
    if (event.key === "ArrowDown") show();
  });
  input.addEventListener("blur", () => {
    hide();
    if (root.dataset.free === undefined) input.value = input.value === "" ? clear() : chosen;
  });
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("combobox-commit", (event) => {
    const option = event.target as HTMLElement;
    chosen = (option.querySelector(".truncate") ?? option).textContent?.trim() ?? "";
    input.value = chosen;
    value.value = option.dataset.value ?? chosen;
    value.dispatchEvent(new Event("change", { bubbles: true }));
    hide();
    filter();
  });

  function clear(): string {
    value.value = "";
    chosen = "";
    return "";
  }
}
