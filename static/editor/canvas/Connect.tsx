import { useId, useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { DialogHead } from "../shell/DialogHead";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { connectTo, connectToNew, type Fresh, leadTo } from "../store/commands-connect";
import { nameOf, ruleOf, stationOf, targetsOf } from "../store/document";
import { kindName } from "../store/kinds";
import { partName, ruleName } from "../store/names";
import type { Editor } from "../store/store";
import { type DropPoint, freshKind, likelyKinds, type Option, optionsFor, placeBeside } from "./connecting";
import { STATION } from "./layout";

const ENDS = ["completed", "failed", "cancelled"] as const;

/** Where a station, or the chosen rule, is to lead: a list to search, so that connecting needs no mouse (`L`). */
export function Connect({
  editor,
  close,
  dropped,
}: {
  editor: Editor;
  close(): void;
  /** Where an edge was let go: what is made stands there. */
  dropped: DropPoint | undefined;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [search, setSearch] = useState("");
  const { line } = editor;
  const { keys, rule } = editor.state.selection;
  const from = stationOf(line, keys[0] ?? "");
  const ruled = rule === undefined ? undefined : ruleOf(line, rule)?.rule;
  const [marked, setMarked] = useState<readonly string[]>(() => {
    const targets = ruled ? targetsOf(ruled) : [];
    return targets.length > 1 ? targets : [];
  });
  const [active, setActive] = useState(0);
  const [making, setMaking] = useState<"station" | "end">();
  useLayoutEffect(() => {
    dialog.current?.showModal();
    // The browser takes the close button; who connects wants to search.
    dialog.current?.querySelector("input")?.focus();
  }, []);
  const [place, setPlace] = useState<{ left: number; top: number }>();
  // After it is shown: before that it has no size.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it stays where it opened.
  useLayoutEffect(() => {
    const size = dialog.current?.getBoundingClientRect();
    if (size && keys[0] !== undefined) setPlace(placeBeside(keys[0], rule, dropped, size));
  }, []);
  if (!from) return null;

  const options = optionsFor(line, from, search);
  const at = Math.min(active, options.length - 1);
  const title = ruled ? say("leadRule", ruleName(line, ruled.id)) : say("connectFrom", nameOf(from));
  const done = (): void => dialog.current?.close();
  const names = (targets: readonly string[]): string => targets.map((key) => partName(line, key)).join(", ");
  const hintOf = (to: string): string =>
    ruled ? say("retargeted", ruleName(line, ruled.id), to) : say("connected", nameOf(from), to);
  const lead = (targets: readonly string[]): void => {
    const label = hintOf(names(targets));
    editor.run(ruled ? leadTo(label, ruled.id, targets) : connectTo(label, from.key, targets));
    done();
  };
  /** What is made is chosen; a station has its name ready to be typed. */
  const makeNew = (made: Fresh): void => {
    const before = new Set(editor.line.stations.map((each) => each.key));
    const at = dropped && !ruled ? onGrid(dropped) : undefined;
    // Drawn before the dialog hands the focus back: React would keep that where it is, and the editor choose what has it.
    flushSync(() => editor.run(connectToNew(hintOf(made.name), from.key, at ? { ...made, at } : made, ruled?.id)));
    const fresh = editor.line.stations.find((each) => !before.has(each.key));
    done();
    if (fresh) editor.begin(fresh.key);
  };
  const take = (option: Option | undefined): void => {
    if (marked.length > 0 && !option?.key.startsWith("+")) {
      lead(marked);
      return;
    }
    if (!option) return;
    const kind = freshKind(option.key);
    if (kind !== undefined) makeNew({ what: "station", kind, name: option.name });
    else if (option.key.startsWith("+")) setMaking(option.key === "+end" ? "end" : "station");
    else lead([option.key]);
  };
  const mark = (option: Option | undefined): void => {
    if (!option?.station) return;
    // One more place than where the rule leads: it forks.
    const others = ruled ? targetsOf(ruled).filter((key) => key !== option.key && stationOf(line, key)) : [];
    setMarked((now) =>
      now.includes(option.key)
        ? now.filter((each) => each !== option.key)
        : [...(now.length === 0 ? others : now), option.key],
    );
  };
  const typed = (event: React.KeyboardEvent): void => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      const next = (to + options.length) % Math.max(options.length, 1);
      setActive(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (event.shiftKey) mark(options[at]);
      else take(options[at]);
    }
  };
  return (
    <dialog
      ref={dialog}
      className={`dialog ed-connect${place ? " ed-connect-beside" : ""}`}
      style={place}
      onPointerDown={(event) => {
        // No `closedby`: the pointer that goes up on the port would close what it has just opened.
        if (event.target === event.currentTarget && isBeside(event)) done();
      }}
      aria-labelledby={`${id}-title`}
      onClose={close}
    >
      <DialogHead id={`${id}-title`} title={title} close={done} />
      {making ? (
        <Make
          what={making}
          kinds={making === "station" ? likelyKinds(line, from) : ENDS}
          name={search.trim()}
          back={() => setMaking(undefined)}
          make={(kind, name) => makeNew({ what: making, kind, name })}
        />
      ) : (
        <>
          <div className="dialog-body">
            <input
              className="input"
              type="search"
              role="combobox"
              autoComplete="off"
              aria-label={say("search")}
              aria-expanded="true"
              aria-controls={`${id}-list`}
              aria-activedescendant={options[at] ? `${id}-${at}` : undefined}
              placeholder={say("searchTargets")}
              value={search}
              onChange={(event) => {
                setSearch(event.target.value);
                setActive(0);
              }}
              onKeyDown={typed}
            />
            <div
              className="listbox ed-targets"
              id={`${id}-list`}
              role="listbox"
              aria-multiselectable="true"
              aria-label={say("targets")}
            >
              {options.map((option, index) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the field holds the focus and takes the keys.
                // biome-ignore lint/a11y/useFocusableInteractive: aria-activedescendant of the field points here.
                <div
                  key={option.key}
                  id={`${id}-${index}`}
                  className="option"
                  role="option"
                  aria-selected={marked.includes(option.key)}
                  data-active={index === at || undefined}
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={(event) => (event.shiftKey ? mark(option) : take(option))}
                >
                  <Icon name={marked.includes(option.key) ? "check" : option.icon} />
                  <span className="truncate">{option.name}</span>
                  <span className="muted small push truncate">{option.note}</span>
                  {option.station ? (
                    // For the mouse; by keyboard it is Shift+Enter.
                    <span
                      className="ed-target-mark"
                      aria-hidden="true"
                      title={say(marked.includes(option.key) ? "unmark" : "mark")}
                      onClick={(event) => {
                        event.stopPropagation();
                        mark(option);
                      }}
                    >
                      <Icon name={marked.includes(option.key) ? "x" : "plus"} size={14} />
                    </span>
                  ) : null}
                </div>
              ))}
            </div>
          </div>
          <div className="dialog-foot ed-connect-foot">
            <p className="muted small grow" role="status">
              {marked.length > 1
                ? say("forkTo", names(marked))
                : marked.length === 1
                  ? say("marked", names(marked))
                  : say("connectKeys")}
            </p>
            <button
              type="button"
              className="button button-primary"
              disabled={marked.length === 0}
              onClick={() => lead(marked)}
            >
              {say("connectMarked")}
            </button>
          </div>
        </>
      )}
    </dialog>
  );
}

function isBeside({ currentTarget, clientX, clientY }: React.PointerEvent): boolean {
  const { left, right, top, bottom } = currentTarget.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}

const snap = (value: number): number => Math.round(value / 8) * 8;
const onGrid = ({ canvas: [x, y] }: DropPoint): [number, number] => [snap(x), snap(y - STATION.height / 2)];

interface Making {
  what: "station" | "end";
  kinds: readonly string[];
  name: string;
  back(): void;
  make(kind: string, name: string): void;
}

/** Name and kind of what is made to be led to. */
function Make({ what, kinds, name: given, back, make }: Making) {
  const id = useId();
  const word = (kind: string): string => (what === "station" ? kindName(kind) : say(`end_${kind}` as "end_completed"));
  const [kind, setKind] = useState(kinds[0] ?? "other");
  const [name, setName] = useState(given);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make(kind, name.trim() || word(kind));
      }}
    >
      <div className="dialog-body">
        <div className="field">
          <label className="field-label" htmlFor={`${id}-name`}>
            {say("name")}
          </label>
          <input
            id={`${id}-name`}
            className="input"
            // biome-ignore lint/a11y/noAutofocus: the field appears because somebody asked to name something.
            autoFocus
            maxLength={200}
            value={name}
            placeholder={word(kind)}
            onChange={(event) => setName(event.target.value)}
          />
        </div>
        <div className="field">
          <label className="field-label" htmlFor={`${id}-kind`}>
            {say("kind")}
          </label>
          <select id={`${id}-kind`} className="input" value={kind} onChange={(event) => setKind(event.target.value)}>
            {kinds.map((each) => (
              <option key={each} value={each}>
                {word(each)}
              </option>
            ))}
          </select>
        </div>
      </div>
      <div className="dialog-foot">
        <button type="button" className="button button-quiet" onClick={back}>
          {say("backToTargets")}
        </button>
        <button type="submit" className="button button-primary">
          {say("makeAndConnect")}
        </button>
      </div>
    </form>
  );
}
