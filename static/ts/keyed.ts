// A part that fetches itself anew keeps what did not change in it: `hx-swap="keyed"`. Its answer is compared with what
// stands there, element by element (those with an id, `data-column` or `data-card` by that). A card of which the server
// knows that it stands there already comes as a mark alone (`data-same`, pipelines/templatetags/task_cards.py).

interface Settling {
  elts: Element[];
}

interface Extension {
  handleSwap(style: string, target: Node, fragment: Node, settling: Settling): Node[] | false;
}

interface Defining {
  defineExtension(name: string, extension: Extension): void;
}

/** Attributes that the page itself adds to elements, and no answer has. */
const OWN = new Set(["data-shown", "data-drop", "style"]);

function keyOf(node: Node): string {
  if (!(node instanceof Element)) return "";
  if (node.id) return `#${node.id}`;
  const { column, card } = (node as HTMLElement).dataset;
  return column !== undefined ? `column ${column}` : card !== undefined ? `card ${card}` : "";
}

function isCard(node: Node): node is HTMLElement {
  return node instanceof HTMLElement && node.dataset.drawn !== undefined;
}

/** Tells whether htmx has to look at an element again: what it does is among its attributes. */
function differsForHtmx(old: Element, fresh: Element): boolean {
  const names = new Set([...old.getAttributeNames(), ...fresh.getAttributeNames()]);
  return [...names].some((name) => name.startsWith("hx-") && old.getAttribute(name) !== fresh.getAttribute(name));
}

class Comparison {
  readonly added: Node[] = [];
  /** A card that the server took for present is not there (any more). */
  isIncomplete = false;
  private readonly cards = new Map<string, HTMLElement>();

  constructor(target: Element) {
    for (const card of target.querySelectorAll<HTMLElement>("[data-drawn]"))
      this.cards.set(card.dataset.card ?? "", card);
  }

  /** Brings an element to what `fresh` is, where it stands. */
  update(old: Element, fresh: Element): void {
    for (const name of old.getAttributeNames()) {
      if (!fresh.hasAttribute(name) && !OWN.has(name)) old.removeAttribute(name);
    }
    for (const name of fresh.getAttributeNames()) {
      const value = fresh.getAttribute(name) ?? "";
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    this.updateChildren(old, fresh);
  }

  private updateChildren(parent: Element, fresh: Element): void {
    const pairs = this.matches(parent, [...fresh.childNodes]);
    const remainingNodes = new Set(pairs.map(([node]) => node));
    for (const node of [...parent.childNodes]) if (!remainingNodes.has(node)) node.remove();
    let place = parent.firstChild;
    for (const [node, model] of pairs) {
      if (node === place) place = place.nextSibling;
      else parent.insertBefore(node, place);
      if (model instanceof Element && node instanceof Element) this.update(node, model);
      else if (model instanceof Text && node.nodeValue !== model.data) node.nodeValue = model.data;
    }
  }

  /** The nodes that are to stand there, each with what it is to become; without that it stays as it is. */
  private matches(parent: Element, everything: Node[]): [Node, Node | null][] {
    // Blanks between cards count for nothing, and keeping them apart would move each card behind one that goes.
    const models = everything.some(isCard) ? everything.filter((model) => !(model instanceof Text)) : everything;
    const byKey = new Map<string, Node>();
    const others: Node[] = [];
    for (const node of parent.childNodes) {
      const key = keyOf(node);
      if (key) byKey.set(key, node);
      else others.push(node);
    }
    const pairs: [Node, Node | null][] = [];
    for (const model of models) {
      if (isCard(model)) {
        const card = this.card(model);
        if (card) pairs.push([card, null]);
        continue;
      }
      const key = keyOf(model);
      const like = key ? byKey.get(key) : others.find((node) => isAlike(node, model));
      if (like && !key) others.splice(0, others.indexOf(like) + 1);
      pairs.push(like && isAlike(like, model) ? [like, model] : [this.add(model), null]);
    }
    return pairs;
  }

  private card(model: HTMLElement): Node | null {
    const presentCard = this.cards.get(model.dataset.card ?? "");
    const isSame = presentCard?.dataset.drawn === model.dataset.drawn;
    if (presentCard && isSame) return presentCard;
    if (model.dataset.same === undefined) return this.add(model);
    this.isIncomplete = true;
    return presentCard ?? null;
  }

  private add(model: Node): Node {
    this.added.push(model);
    return model;
  }
}

function isAlike(node: Node, model: Node): boolean {
  if (node.nodeType !== model.nodeType || node.nodeName !== model.nodeName) return false;
  return !(node instanceof Element && model instanceof Element) || !differsForHtmx(node, model);
}

/** Puts the answer in the place of the part. Returns what is new in it; null where the whole part is. */
function swapKeyed(target: Element, fresh: Element): Node[] | null {
  if (!isAlike(target, fresh)) return null;
  const focused = document.activeElement;
  const comparison = new Comparison(target);
  comparison.update(target, fresh);
  // What is put elsewhere loses the focus on the way.
  if (focused instanceof HTMLElement && focused !== document.activeElement && target.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
  if (comparison.isIncomplete) setTimeout(() => document.body.dispatchEvent(new CustomEvent("gl:resync")));
  return comparison.added;
}

/** Tells htmx how a part is swapped in this way. */
export function startKeyed(): void {
  (window.htmx as unknown as Defining | undefined)?.defineExtension("keyed", {
    handleSwap(style, target, fragment, settling) {
      const fresh = (fragment as ParentNode).querySelector(":scope > *") ?? (fragment as ParentNode).firstElementChild;
      if (style !== "keyed" || !(target instanceof Element) || !fresh) return false;
      const added = swapKeyed(target, fresh);
      if (added) return added;
      target.replaceWith(fresh);
      settling.elts.splice(0, settling.elts.length, fresh);
      return [fresh];
    },
  });
}
