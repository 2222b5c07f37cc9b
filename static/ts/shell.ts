// The entry of every page: styles and the small behaviours that HTML alone does not have.
import "../css/main.css";

import { startCombobox } from "./combobox";
import { startCopy } from "./copy";
import { startDecision } from "./decision";
import { startDialogs } from "./dialogs";
import { startFailures } from "./failures";
import { startLive } from "./live";
import { startLog } from "./log";
import { startMenus } from "./menus";
import { startNotices } from "./notices";
import { startPalette } from "./palette";
import { startRail } from "./rail";
import { startShortcuts } from "./shortcuts";
import { startTheme } from "./theme";
import { startTimes } from "./time";

// Every file of css/pages/ is part of the sheet: a page brings its rules without touching a list.
import.meta.glob("../css/pages/*.css", { eager: true });

startFailures();
startDialogs();
startMenus();
startTheme();
startRail();
startNotices();
startTimes();
startCopy();
startCombobox();
startPalette();
startShortcuts();
startDecision();
startLog();
startLive();
