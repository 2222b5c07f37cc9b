// Menus are native popovers: the browser opens, closes and returns the focus. This file places them
// (CSS anchors are not everywhere yet) and lets the arrow keys walk.

const GAP = 4;

function opener(menu: HTMLElement): HTMLElement | null {
  const all = [...document.querySelectorAll<HTMLElement>(`[popovertarget="${CSS.escape(menu.id)}"]`)];
  return all.find((button) => button.getClientRects().length > 0) ?? null;
}

function place(menu: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect();
  const box = menu.getBoundingClientRect();
  const below = at.bottom + GAP + box.height <= window.innerHeight || at.top < box.height;
  const top = below ? at.bottom + GAP : at.top - box.height - GAP;
  const left = at.left + box.width <= window.innerWidth - GAP ? at.left : at.right - box.width;
  menu.style.top = `${Math.max(GAP, Math.min(top, window.innerHeight - box.height - GAP))}px`;
  menu.style.left = `${Math.max(GAP, left)}px`;
}

function items(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>(".menu-item:not([disabled])")];
}

function walk(menu: HTMLElement, event: KeyboardEvent): void {
  const all = items(menu);
  const now = all.indexOf(document.activeElement as HTMLElement);
  const next: Record<string, number> = {
    ArrowDown: now + 1,
    ArrowUp: now < 0 ? all.length - 1 : now - 1,
    Home: 0,
    End: all.length - 1,
  };
  const to = next[event.key];
  if (to === undefined || all.length === 0) return;
  event.preventDefault();
  all[(to + all.length) % all.length]?.focus();
}

/** Makes menus of popovers: focus, arrow keys, and the state of their buttons. */
export function startMenus(): void {
  document.addEventListener(
    "toggle",
    (event) => {
      const menu = event.target;
      if (!(menu instanceof HTMLElement) || !menu.matches(".menu[popover]")) return;
      const open = event.newState === "open";
      const button = opener(menu);
      button?.setAttribute("aria-expanded", String(open));
      // A page that comes anew would write it to the new menu, which the policy of the page refuses
      if (!open) menu.removeAttribute("style");
      if (!open || !button) return;
      place(menu, button);
      (menu.querySelector<HTMLElement>('[aria-checked="true"]') ?? items(menu)[0])?.focus();
    },
    true,
  );
  document.addEventListener("keydown", (event) => {
    const menu = event.target instanceof Element ? event.target.closest<HTMLElement>(".menu[popover]") : null;
    if (menu) walk(menu, event);
  });
}
