/** The controls of a form that the server drew: what they hold, what is wrong with one, where the focus goes. */
import { isControl } from "./morph";

export function valuesIn(root: Element | undefined): Map<string, string[]> {
  const texts = new Map<string, string[]>();
  for (const control of root?.querySelectorAll("input[name], select[name], textarea[name]") ?? []) {
    if (!isControl(control) || control.name === "q" || control.closest("[data-preview]")) continue;
    const values = texts.get(control.name) ?? [];
    const counts = !(control instanceof HTMLInputElement && control.type === "checkbox") || control.checked;
    texts.set(control.name, counts ? [...values, control.value] : values);
  }
  return texts;
}

/** Fault of a field, and the field's name. */
export function faultOf(root: Element | undefined, name: string): { label: string; why: string } {
  const block = root?.querySelector(`[data-name="${CSS.escape(name)}"]`);
  const textOf = (selector: string): string => block?.querySelector(selector)?.textContent?.trim() ?? "";
  return { label: textOf("label, legend"), why: textOf(".field-error") };
}

/** A row, a button, or a control. */
export function focusOn(id: string): void {
  const form = document.getElementById(id);
  for (const details of form?.querySelectorAll("details") ?? [])
    if (details.parentElement === form) details.open = true;
  const places = [
    form,
    ...(form?.querySelectorAll<HTMLElement>("input:not([type=hidden]), select, textarea, button") ?? []),
  ];
  const sibling = form?.parentElement?.querySelector<HTMLElement>("button:not([disabled])");
  const place = [...places, sibling].find(
    (each) => each?.matches("input, select, textarea, button") && !each.matches("[disabled]"),
  );
  place?.focus();
}
