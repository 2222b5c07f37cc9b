/** Time after which a lone piece of news is told, with what came meanwhile. */
const SHORTEST_MS = 100;
/** Longest time, while news comes all the time. With the way of a hint and of an answer a page is right within 1.3 s. */
const LONGEST_MS = 800;

/** Tells of news: soon where it is quiet, and of the more at once the more there is, since each time costs a request. */
export class Gathering {
  private pause = SHORTEST_MS;
  private toldAt = Number.NEGATIVE_INFINITY;
  private waits = false;

  constructor(private readonly tell: () => void) {}

  note(): void {
    if (this.waits) return;
    this.waits = true;
    const isBurst = performance.now() - this.toldAt < this.pause;
    this.pause = isBurst ? Math.min(2 * this.pause, LONGEST_MS) : SHORTEST_MS;
    setTimeout(() => {
      this.waits = false;
      this.toldAt = performance.now();
      this.tell();
    }, this.pause);
  }
}
