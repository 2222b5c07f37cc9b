/** Who is told when something is another one now: what `useSyncExternalStore` of React asks for. */
export class Listeners {
  readonly #all = new Set<() => void>();

  readonly subscribe = (heard: () => void): (() => void) => {
    this.#all.add(heard);
    return () => this.#all.delete(heard);
  };

  tell(): void {
    for (const heard of this.#all) heard();
  }
}
