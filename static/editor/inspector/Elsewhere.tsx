import { Icon } from "../shell/Icon";
import { say } from "../shell/words";
import { type Editor, useEditor } from "../store/store";

/** What the last change of rules sent elsewhere, of this station: an example each, and what became of it before. */
export function Elsewhere({ editor, station }: { editor: Editor; station: string }) {
  const elsewhere = useEditor(editor, (state) => state.elsewhere);
  const here = elsewhere?.changes.filter((change) => change.station === station) ?? [];
  if (!elsewhere || here.length === 0) return null;
  return (
    <div className="banner ed-elsewhere" role="status">
      <Icon name="info" />
      <div className="banner-text">
        <span className="banner-title">{say("elsewhere")}</span>
        <ul>
          {here.map((change) => (
            <li key={`${change.example} ${change.new}`}>
              <code>{change.example}</code>
              <span className="ed-elsewhere-ways">
                <s>{change.old}</s> <Icon name="arrow-right" size={12} /> <strong>{change.new}</strong>
              </span>
            </li>
          ))}
        </ul>
        {elsewhere.more > 0 ? <p className="muted small">{say("moreElsewhere", String(elsewhere.more))}</p> : null}
        {elsewhere.open > 0 ? <p className="muted small">{say("openElsewhere", String(elsewhere.open))}</p> : null}
      </div>
      <button
        type="button"
        className="button button-quiet button-icon button-small"
        aria-label={say("dismiss")}
        title={say("dismiss")}
        onClick={() => editor.dismissElsewhere()}
      >
        <Icon name="x" />
      </button>
    </div>
  );
}
