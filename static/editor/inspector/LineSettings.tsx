import { type ComponentType, useEffect, useState } from "react";
import { GatesTab } from "../gates/Gates";
import { say, type WordName } from "../shell/words";
import type { LineDocument } from "../store/document";
import { useEditor } from "../store/store";
import { Configure, InputsTab } from "./Configure";
import type { TabProps } from "./tab";

interface Section {
  id: "configure" | "inputs" | "gates";
  word: WordName;
  count?(line: LineDocument): number;
  component: ComponentType<TabProps>;
}

const SECTIONS: readonly Section[] = [
  { id: "configure", word: "line", component: Configure },
  {
    id: "inputs",
    word: "inputsTab",
    count: (line) => (Array.isArray(line.inputs) ? line.inputs.length : 0),
    component: InputsTab,
  },
  { id: "gates", word: "gates", count: (line) => line.gates?.length ?? 0, component: GatesTab },
];

/** Everything that is set of the line itself, one part open at a time. */
export function LineSettings(given: TabProps) {
  const { selection } = useEditor(given.editor);
  const [open, setOpen] = useState<string>("configure");
  useEffect(() => {
    if (SECTIONS.some(({ id }) => id === selection.part)) setOpen(selection.part ?? "");
  }, [selection]);
  return SECTIONS.map(({ id, word, count, component: Part }) => (
    <section key={id} className="ed-settings">
      <h3>
        <button
          type="button"
          id={`ed-settings-${id}`}
          aria-expanded={open === id}
          onClick={() => setOpen((now) => (now === id ? "" : id))}
        >
          <span className="grow">{say(word)}</span>
          {count ? <span className="muted">{count(given.line)}</span> : null}
        </button>
      </h3>
      {open === id ? <Part {...given} /> : null}
    </section>
  ));
}
