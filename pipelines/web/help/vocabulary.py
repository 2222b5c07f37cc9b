"""The words that people have for what a page of the help is about, where the page itself says it otherwise."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "getting-started": "start begin beginner getting started new tutorial introduction overview guide learn basics",
    "getting-started#words": "glossary meaning term vocabulary what is",
    "getting-started#when-a-task-does-not-move": "stuck hang nothing happens blocked waiting hold held "
    "problem trouble",
    "demo": "example sample try",
    "people#invite-people": "invite invitation add colleague teammate member user join link onboard",
    "people#roles": "role permission rights access admin",
    "people#sign-in": "password forgot forgotten reset login log sign locked account passkey second factor 2fa "
    "mfa totp authenticator recovery session logout phone",
    "people#sign-in-with-a-provider": "sso oidc openid google okta keycloak single identity provider",
    "people#leave-or-be-removed": "leave remove member deactivate offboard quit leaver",
    "people#audit-log": "audit who changed log record",
    "projects": "settings",
    "projects#create-a-project": "project new create second workspace organization owner",
    "projects#rename-archive-restore-transfer": "rename archive restore transfer delete project move",
    "projects#lines": "duplicate copy line delete rename archive",
    "repositories": "git repository branch commit merge push clone fetch remote github gitlab gitea deploy key",
    "secrets": "secret variable credential key password token environment env vault",
    "secrets#for-operators-of-the-installation": "rotate rotation encryption",
    "drawing": "line workflow pipeline process create draw new template edit canvas station",
    "drawing#by-keyboard": "keyboard shortcut shortcuts keys hotkey",
    "drawing#several-people-and-no-server": "conflict together collaborate offline unsaved",
    "drawing#importing": "import yaml json",
    "drawing#comments": "comment discuss",
    "kinds": "kind station type work",
    "agents": "agent ai claude codex opencode gemini copilot aider llm coding cli",
    "agents#codemod": "fixer lint ruff eslint prettier biome oxlint oxfmt xo standard stylelint gofmt format",
    "kinds#chat": "model llm agent ai prompt gpt claude",
    "kinds#http": "webhook url request call",
    "kinds#manual": "manual human person",
    "rules": "rule condition branch if route loop",
    "rules#budgets": "limit budget retry retries loop maximum",
    "rules#forks-and-joins": "parallel fork join split merge",
    "gates": "gate checkpoint",
    "gates#who-is-asked": "approve approval approver reviewer decide sign-off four eyes self-approved",
    "gates#the-words": "reject send back vote refuse rework abort decline",
    "gates#when-it-is-due": "deadline due overdue reminder",
    "gates#who-may-do-what-in-a-project": "who may allowed can",
    "start-forms": "form field input inputs ask question",
    "start-forms#files": "file upload attachment attach document download",
    "testing": "test scenario simulate try",
    "lint": "problem warning error finding check",
    "versions#publish": "publish live release deploy version",
    "versions#history": "history undo revert restore version old",
    "versions#back-test": "backtest replay",
    "versions#evaluations": "evals benchmark compare agents models prompts",
    "versions#migrate": "migrate running upgrade",
    "watching": "watch board live progress follow monitor",
    "watching#the-page-of-a-task": "task status log output artifact retry cancel hold",
    "watching#inbox": "inbox todo waiting me",
    "triggers": "trigger automatic automatically automate",
    "triggers#start-tasks-from-another-program": "webhook webhooks incoming hook call http signature secret jsonpath "
    "payload",
    "triggers#events-of-a-host": "issue opened labelled comment pull merge request pushed merged check failed github "
    "gitlab gitea event branch",
    "triggers#start-tasks-when-another-line-ends": "after another line chain downstream upstream pipeline flow "
    "follow next finish build",
    "triggers#start-tasks-by-the-clock": "every night nightly hourly daily weekly monthly schedule scheduled cron "
    "timer regularly recurring",
    "notifications": "notification notifications bell unread notify alert",
    "notifications#choose": "mute unsubscribe turn off less mail",
    "notifications#the-digest": "digest daily summary",
    "notifications#quiet-hours": "quiet hours night disturb weekend",
    "mcp": "mcp claude code chat agent connect protocol",
    "dialects#import-a-document": "alp flux contenox aeef vibe factory",
    "watching#insights": "statistics numbers metrics insights report analytics",
    "escalations": "escalate escalation deadlock help",
    "operating": "install installation server setup configure deploy host",
    "operating#back-up": "backup back up restore save",
    "operating#settings": "mail smtp email configuration setting",
    "operating#agents": "agent",
    "deploy": "docker podman container image compose kubernetes helm systemd",
    "metrics": "prometheus grafana monitoring",
    "metrics#alerts-and-a-dashboard": "alert alerts dashboard grafana",
    "workers": "worker runner command program execute sandbox",
    "runners": "runner remote machine worker drain elsewhere",
    "workers#network": "network internet egress proxy",
    "workers#isolation": "isolation sandbox security bubblewrap",
    "api": "api rest curl integration automate",
    "api#tokens": "api token bearer key",
}
"""By page, or by page and anchor; single words in lower case."""

UNSAID = frozenset((
    "how", "what", "why", "who", "when", "where", "which", "can", "may", "does", "the", "and", "for", "you", "your",
    "with", "from", "this", "that", "have", "get", "make", "there", "are", "not", "into", "about", "want", "need",
    "somebody", "someone", "something"
))  # fmt: skip
"""Words that do not say what is looked for, beside one that does."""
