// The entry of every page: styles and the small behaviours that HTML alone does not have.
import "../css/main.css";
import "./sheets";

import { startCombobox } from "./combobox";
import { startCopy } from "./copy";
import { startCounts } from "./counts";
import { startDecision } from "./decision";
import { startDialogs } from "./dialogs";
import { startFailures } from "./failures";
import { startItems } from "./items";
import { startLive } from "./live";
import { startLog } from "./log";
import { startMenus } from "./menus";
import { startNotices } from "./notices";
import { startPalette } from "./palette";
import { startRail } from "./rail";
import { startShortcuts } from "./shortcuts";
import { startTheme } from "./theme";
import { startTimes } from "./time";
import { say } from "./words";

startFailures();
startDialogs();
startMenus();
startTheme();
startRail();
startNotices();
startTimes(say);
startCopy();
startCombobox();
startPalette();
startShortcuts();
startDecision();
startLog();
startCounts();
startItems();
startLive();
