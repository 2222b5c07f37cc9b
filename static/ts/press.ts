/** A link that is replaced between press and release takes no click: its part waits, and is asked for once more. */
export function watchPress(askAgain: () => void): { holds: (part: Element) => boolean } {
  let pressed: Node | null = null;
  let missed = false;
  document.addEventListener("pointerdown", ({ target }) => {
    pressed = target instanceof Node ? target : null;
  });
  const release = () => {
    // The click comes after the release
    setTimeout(() => {
      pressed = null;
      if (missed) askAgain();
      missed = false;
    });
  };
  for (const type of ["pointerup", "pointercancel", "dragend"]) document.addEventListener(type, release);
  const holds = (part: Element) => {
    const within = pressed !== null && part.contains(pressed);
    missed ||= within;
    return within;
  };
  return { holds };
}
