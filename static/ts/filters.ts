const ON_CHANGE = "form[data-submits-on-change]";

/**
 * A filter that was chosen while the page still loaded: nobody heard of its change, so it is told once more to who
 * listens now.
 */
export function startFilters(): void {
  // A form without a part of its own to fetch is sent when something in it was chosen.
  document.addEventListener("change", (event) => {
    const form = event.target instanceof Element ? event.target.closest<HTMLFormElement>(ON_CHANGE) : null;
    if (form) form.requestSubmit();
  });
  document.addEventListener(
    "htmx:load",
    () => {
      for (const form of document.querySelectorAll<HTMLFormElement>("form[role=search][hx-get]")) {
        if ([...form.elements].some(changed)) form.dispatchEvent(new Event("change"));
      }
    },
    { once: true },
  );
}

function changed(control: Element): boolean {
  if (control instanceof HTMLSelectElement) {
    const first = [...control.options].findIndex((option) => option.defaultSelected);
    return control.selectedIndex !== Math.max(first, 0);
  }
  if (!(control instanceof HTMLInputElement)) return false;
  return control.value !== control.defaultValue || control.checked !== control.defaultChecked;
}
