/** What the command palette of the shell offers on this page: the actions of the editor, and every place of the line by
 * its name. */
import type { Asked, Offer } from "../../ts/palette";
import { endOf, endsOf, nameOf, rulesOf, targetsOf } from "../store/document";
import { endName, gateName, targetName } from "../store/names";
import { ACTIONS, possible } from "./actions";
import type { Desk } from "./desk";
import { goTo } from "./focus";
import { shown } from "./keystrokes";
import { say } from "./words";

const MOST = 12;

export function startOffers(desk: Desk): () => void {
  const onOffer = (event: Event): void => {
    const { words, offers } = (event as CustomEvent<Asked>).detail;
    offers.push(...offersFor(desk, words));
  };
  document.addEventListener("gl:palette", onOffer);
  return () => document.removeEventListener("gl:palette", onOffer);
}

function offersFor(desk: Desk, words: string): Offer[] {
  const terms = words.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (offer: Offer): boolean => {
    const text = `${offer.label} ${offer.note ?? ""}`.toLowerCase();
    return terms.every((word) => text.includes(word));
  };
  // Without a word only what can be done: the places of a line may be hundreds.
  const all = terms.length === 0 ? doings(desk) : [...doings(desk), ...places(desk)];
  const begins = (offer: Offer): number =>
    terms.some((word) => offer.label.toLowerCase().split(/\s+/).at(-1)?.startsWith(word)) ? 0 : 1;
  return all
    .filter(fits)
    .sort((a, b) => begins(a) - begins(b))
    .slice(0, MOST);
}

function doings(desk: Desk): Offer[] {
  return ACTIONS.filter((each) => !each.quiet && possible(each, desk)).map((each) => ({
    label: say(each.word),
    ...(each.keys[0] ? { key: shown(each.keys[0]) } : {}),
    ...(each.icon ? { icon: each.icon } : {}),
    run: () => each.run(desk),
  }));
}

function places(desk: Desk): Offer[] {
  const { editor, flow } = desk;
  const line = editor.line;
  const names = { origin: say("origin"), blocked: say("blocked") };
  const toNode = (id: string) => (): void => goTo(editor, flow, { kind: "node", id });
  const offers: Offer[] = [];
  for (const station of line.stations) {
    offers.push({
      label: say("goTo", nameOf(station)),
      note: say("aStation"),
      icon: "arrow-right",
      run: toNode(station.key),
    });
    rulesOf(station).forEach((rule, index) => {
      const to = targetsOf(rule);
      const run = (): void => goTo(editor, flow, { kind: "edge", id: `${rule.id}>${to[0] ?? ""}` });
      const targets = to.map((key) => targetName(line, key, names)).join(", ");
      const label = say("goTo", rule.label || rule.id);
      offers.push({ label, note: say("aRule", String(index + 1), nameOf(station), targets), icon: "arrow-right", run });
      for (const key of rule.gates ?? []) {
        offers.push({
          label: say("goTo", gateName(line, key)),
          note: say("aGate", nameOf(station)),
          icon: "gate",
          run,
        });
      }
    });
    if (station.gate) {
      offers.push({
        label: say("goTo", gateName(line, station.gate)),
        note: say("aGate", nameOf(station)),
        icon: "gate",
        run: toNode(station.key),
      });
    }
  }
  for (const key of endsOf(line)) {
    offers.push({
      label: say("goTo", endName(endOf(line, key)?.label ?? key)),
      note: say("anEnd"),
      icon: "arrow-right",
      run: toNode(key),
    });
  }
  return offers;
}
