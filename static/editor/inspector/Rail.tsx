import type { Desk } from "../shell/desk";
import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { useEditor } from "../store/store";
import { chosenOf, TABS } from "./tabs";

/** The settings folded to an icon for each of their tabs, which opens them there. */
export function InspectorRail({ desk }: { desk: Desk }) {
  const { editor } = desk;
  const { history, selection } = useEditor(editor);
  const chosen = chosenOf(history.line, selection);
  const show = (tab: string): void => {
    editor.showTab(tab);
    desk.fold("inspector", true);
    requestAnimationFrame(() => document.getElementById(`ed-tab-${tab}`)?.focus());
  };
  return (
    <aside className="ed-inspector-rail" aria-label={say("inspectorTabs")}>
      {TABS.filter((tab) => tab.shows(chosen)).map(({ id, word, icon, badge: Badge }) => (
        <button
          key={id}
          type="button"
          className="button button-quiet button-icon"
          aria-label={say(word)}
          title={say(word)}
          onClick={() => show(id)}
        >
          <Icon name={icon} />
          {Badge ? <Badge editor={editor} line={history.line} chosen={chosen} /> : null}
        </button>
      ))}
    </aside>
  );
}
