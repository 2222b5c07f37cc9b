import type { ReactNode } from "react";
import { Icon } from "../shell/Icon";
import type { Editor } from "../store/store";

interface HeadGiven {
  title: string;
  count: string | number;
  open: boolean;
  fold(): void;
  children?: ReactNode;
}

/** What a part of the drawer is folded by, and beside it what can be done with all of it. */
export function DrawerHead({ title, count, open, fold, children }: HeadGiven) {
  return (
    <div className="ed-drawer-head">
      <h2>
        <button type="button" className="ed-drawer-fold" aria-expanded={open} onClick={fold}>
          <span>{title}</span> <span className="badge">{count}</span>
          <Icon name={open ? "chevron-down" : "chevron-up"} />
        </button>
      </h2>
      {children}
    </div>
  );
}

/** Shows the form of the line itself: there stands what is said of it. */
export function toLine(editor: Editor): void {
  editor.select({ keys: [] });
  editor.showTab("configure");
}

/** What several rows call alike, told apart for who does not see the row: “Details: Rule 4 of Tests never matches”. */
export function Of({ what }: { what: string }) {
  return <span className="visually-hidden">{`: ${what}`}</span>;
}
