import { on } from "./dom";

/**
 * The server sets the theme of every page, so nothing flashes. A choice in the user menu shows at
 * once and is posted; should the post fail, the form is sent the ordinary way, which says why.
 */
export function startTheme(): void {
  on("submit", "form[data-preferences]", (element, event) => {
    const form = element as HTMLFormElement;
    const button = event.submitter as HTMLButtonElement | null;
    if (!button?.name) return;
    event.preventDefault();
    show(form, button);
    const body = new FormData(form, button);
    const plainly = (): void => submitWith(form, button);
    // keepalive: a page that is left at once must not take the choice with it.
    fetch(form.action, { method: "POST", body, keepalive: true, headers: { "X-Requested-With": "fetch" } })
      .then((answer) => {
        if (!answer.ok) plainly();
      })
      .catch(plainly);
  });
}

/** As the browser would, without asking this listener again. */
function submitWith(form: HTMLFormElement, button: HTMLButtonElement): void {
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = button.name;
  field.value = button.value;
  form.append(field);
  form.submit();
}

function show(form: HTMLFormElement, button: HTMLButtonElement): void {
  document.documentElement.dataset[button.name] = button.value;
  for (const other of form.querySelectorAll<HTMLButtonElement>(`button[name="${button.name}"]`)) {
    other.setAttribute("aria-checked", String(other === button));
  }
}
