import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type Remedy, remedy } from "../store/commands-edits";
import type { Editor } from "../store/store";

/** “Fix: move above 1”. */
export const asFix = ({ label }: Pick<Remedy, "label">): string =>
  say("fix", label.charAt(0).toLowerCase() + label.slice(1));

interface Given {
  editor: Editor;
  remedies: readonly Remedy[] | undefined;
  /** The first of them is called the fix. */
  fix?: boolean;
}

/** What puts a finding right: each one button, each one command that can be undone. */
export function Remedies({ editor, remedies, fix = false }: Given) {
  if (!remedies?.length) return null;
  return (
    <span className="ed-remedies">
      {remedies.map((each, index) => (
        <button key={each.label} type="button" className="button button-small" onClick={() => editor.run(remedy(each))}>
          <Icon name={each.icon} size={14} /> <span>{fix && index === 0 ? asFix(each) : each.label}</span>
        </button>
      ))}
    </span>
  );
}
