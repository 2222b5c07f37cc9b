const STILL = "(prefers-reduced-motion: reduce)";

/** Milliseconds in which the view glides to another place: none for who asked the system for less motion. */
export const gliding = (): number => (matchMedia(STILL).matches ? 0 : 200);
