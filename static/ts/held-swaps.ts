// A live part that is drawn anew between press and release takes the pressed link or button with it, and the browser
// makes no click of it; nor does it go on dragging a card that is gone, and a menu that is open in it closes under the hand.
// So what comes meanwhile for that part is left out, and fetched again after the click, the drop or the choice.

interface Swap {
  target?: Element;
  requestConfig?: { verb?: string };
  shouldSwap?: boolean;
}

let pressed: Element | null = null;
let isDragged = false;
let leftOut = false;

function press(event: Event): void {
  pressed = event.target instanceof Element ? event.target : null;
}

function pressByKey(event: KeyboardEvent): void {
  // Space clicks a button when it is let go; Enter does so at once.
  if (event.key === " ") press(event);
}

function drag(): void {
  isDragged = true;
}

function release({ type }: Event): void {
  // The browser takes the pointer away from the page for as long as something is dragged.
  if (isDragged && type !== "dragend") return;
  isDragged = false;
  pressed = null;
  fetchLeftOut();
}

function moveOver(event: PointerEvent): void {
  // No browser tells of the release of a scroll bar: the pointer moves on with nothing pressed.
  if (pressed && event.buttons === 0) release(event);
}

function leaveOut(event: Event): void {
  const swap = (event as CustomEvent<Swap>).detail;
  const verb = swap.requestConfig?.verb ?? "get";
  if (!swap.shouldSwap || verb !== "get" || !isInUse(swap.target)) return;
  swap.shouldSwap = false;
  leftOut = true;
}

function isInUse(part: Element | undefined): boolean {
  if (!part) return false;
  return (pressed?.isConnected && part.contains(pressed)) || part.querySelector(".menu:popover-open") !== null;
}

function closeMenu(event: Event): void {
  if (event instanceof ToggleEvent && event.newState === "closed") fetchLeftOut();
}

function fetchLeftOut(): void {
  if (!leftOut) return;
  leftOut = false;
  // The click comes after the release.
  setTimeout(() => document.body.dispatchEvent(new CustomEvent("gl:resync")));
}

/** Keeps live parts as they are while something in them is pressed, or a menu of theirs is open. */
export function startHeldSwaps(): void {
  document.addEventListener("pointerdown", press, true);
  document.addEventListener("keydown", pressByKey, true);
  document.addEventListener("dragstart", drag, true);
  for (const type of ["pointerup", "pointercancel", "keyup", "dragend"]) {
    document.addEventListener(type, release, true);
  }
  document.addEventListener("pointermove", moveOver, { capture: true, passive: true });
  window.addEventListener("blur", release);
  // `toggle` does not bubble.
  document.addEventListener("toggle", closeMenu, true);
  document.addEventListener("htmx:beforeSwap", leaveOut);
  document.addEventListener("htmx:oobBeforeSwap", leaveOut);
}
