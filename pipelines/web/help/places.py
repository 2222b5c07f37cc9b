"""Where the help says more about a page, a field or an empty state: one table for all of them.

A line is a page by the name of its route, or a form of the editor as `form-…`; after a space the name of a field there,
or the beginning of it up to a dot. What has no line of its own goes where the page goes. `input …` is for fields of one
type of input, `kind …` for those of a kind of work that has its section elsewhere than on the page of the kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

PLACES: Mapping[str, str] = {
    # Pages
    "home": "getting-started",
    "tasks-everywhere": "watching",
    "inbox": "watching#inbox",
    "needs-me": "watching#inbox",
    "needs-count": "watching#inbox",
    "need-act": "watching#inbox",
    "gate-visit": "gates#the-words",
    "gate-decide": "gates#the-words",
    "gate-remark": "changes#comment-on-lines",
    "gate-remark-act": "changes#comment-on-lines",
    "task-file": "changes#read-what-changed",
    "task-file-viewed": "changes#read-what-changed",
    "help": "getting-started",
    "help-page": "getting-started",
    "palette": "getting-started",
    "mail-dev": "operating#settings",
    "mail-dev-message": "operating#settings",
    "projects": "projects#create-a-project",
    "account": "people#sign-in",
    "account name": "api#tokens",
    "account scopes": "api#tokens",
    "notifications": "notifications#the-bell",
    "account-notifications": "notifications#choose",
    "account-notifications digest_hour": "notifications#the-digest",
    "account-notifications quiet": "notifications#quiet-hours",
    "account-notifications quiet_from": "notifications#quiet-hours",
    "account-notifications quiet_until": "notifications#quiet-hours",
    "account days": "api#tokens",
    "token-new": "api#tokens",
    "password-set": "people#sign-in",
    "password-change": "people#sign-in",
    "account_reauthenticate": "people#sign-in",
    "mfa_index": "people#sign-in",
    "mfa_reauthenticate": "people#sign-in",
    "mfa_activate_totp": "people#sign-in",
    "mfa_deactivate_totp": "people#sign-in",
    "mfa_view_recovery_codes": "people#sign-in",
    "mfa_generate_recovery_codes": "people#sign-in",
    "mfa_add_webauthn": "people#sign-in",
    "mfa_list_webauthn": "people#sign-in",
    "mfa_remove_webauthn": "people#sign-in",
    "mfa_reauthenticate_webauthn": "people#sign-in",
    # A project
    "project": "projects",
    "project-health": "escalations#health",
    "task-new-choose": "getting-started#start-a-task-and-follow-it",
    "project-settings": "people",
    "project-settings emails": "people#invite-people",
    "project-settings roles": "people#roles",
    "member-invite": "people#invite-people",
    "member-change": "people#roles",
    "member-change heir": "people#leave-or-be-removed",
    "project-leave": "people#leave-or-be-removed",
    "project-audit": "people#audit-log",
    "project-agents": "operating#agents",
    "project-agent": "operating#agents",
    "project-groups": "gates#who-is-asked",
    "group-change": "gates#who-is-asked",
    "project-tokens": "api#tokens",
    "project-general": "projects#rename-archive-restore-transfer",
    "project-archive": "projects#rename-archive-restore-transfer",
    "project-transfer": "projects#rename-archive-restore-transfer",
    "project-setup": "getting-started#set-up-a-project",
    "project-repositories": "repositories#connect-a-repository",
    "project-repository": "repositories#connect-a-repository",
    "project-secrets": "secrets",
    "project-secrets place": "secrets#which-value-counts",
    "project-secrets name": "secrets#which-value-counts",
    # Lines
    "lines": "drawing#a-first-line",
    "lines-new": "drawing#a-first-line",
    "line": "drawing",
    "line-edit": "drawing#as-text",
    "line-draw": "drawing#on-the-canvas",
    "line-settings": "projects#lines",
    "line-duplicate": "projects#lines",
    "line-publish": "versions#publish",
    "line-published": "versions#publish",
    "line-live": "watching#the-board",
    "line-tasks": "watching",
    "line-tests": "testing#on-the-page",
    "line-versions": "versions#history",
    "line-version": "versions#history",
    "line-backtest": "versions#back-test",
    "line-difference": "versions#difference",
    "line-impact": "versions#impact",
    "line-migrate": "versions#migrate",
    "migration-undo": "versions#migrate",
    "line-numbers": "watching#the-numbers-of-a-line",
    # Tasks
    "task-new": "start-forms",
    "task-new title": "start-forms#the-title",
    "tasks": "watching",
    "task": "watching#the-page-of-a-task",
    "task escalate": "escalations#what-is-escalated",
    "task-log": "watching#the-page-of-a-task",
    "task-input-preview": "start-forms#files",
    "job-complete": "kinds#manual",
    "task-answer": "watching#inbox",
    "task-escalate": "escalations#what-is-escalated",
    "task-resolve": "escalations#resolving",
    "task-unlock": "escalations#deadlocks",
    # Types of input
    "input": "start-forms#types",
    "input file": "start-forms#files",
    "input secret": "secrets",
    # Forms of the editor
    "form-station": "drawing#forms",
    "form-station work": "kinds",
    "form-station gate": "gates",
    "form-station limits": "workers#limits-of-resources",
    "form-station expects": "kinds#what-is-expected-of-a-station",
    "form-station outcome_of": "kinds#what-is-expected-of-a-station",
    "form-station artifacts": "kinds#what-is-expected-of-a-station",
    "form-station join": "rules#forks-and-joins",
    "form-station requires": "rules#preconditions",
    "form-station agent": "operating#agents",
    "form-station handoff": "rules#preconditions",
    "form-station output_keys": "workers#what-a-command-gives",
    "form-station result_document": "workers#what-a-command-gives",
    "form-gate": "gates",
    "form-gate mode": "gates#what-is-checked",
    "form-gate checks": "gates#what-is-checked",
    "form-gate tool": "gates#a-tool-decides",
    "form-gate approval": "gates#who-is-asked",
    "form-gate offers": "gates#the-words",
    "form-gate on_reject": "gates#the-words",
    "form-gate due": "gates#when-it-is-due",
    "form-gate notify": "gates#when-it-is-due",
    "form-end": "rules#targets",
    "form-line": "drawing#forms",
    "form-line preset": "rules#when-no-rule-matches",
    "form-line policy": "rules#when-no-rule-matches",
    "form-line budgets": "rules#budgets",
    "form-line escalations": "escalations#what-is-escalated",
    "form-line forbidden_parallel": "rules#between-match-and-move",
    "form-line handoff": "rules#preconditions",
    "form-inputs": "start-forms#types",
    "form-rule": "rules#what-a-rule-can-say",
    "form-rule when": "rules#conditions",
    "form-rule to": "rules#targets",
    "form-rule gates": "gates",
    "form-rule max_retries": "rules#between-match-and-move",
    "form-rule on_exhausted": "rules#budgets",
    "form-failures": "drawing#forms",
    # Kinds of work
    "kind agent": "agents#set-up-a-station",
    "kind command": "workers#what-a-command-gets",
}


def place(at: str, field: str = "", kind: str = "") -> str:
    """`page#heading`, or "" where nothing is said about it. `kind`: of the work whose field it is."""
    if kind and field.startswith("work.") and field != "work.kind":
        return PLACES.get(f"kind {kind}", f"kinds#{kind}")
    wanted = (*(f"{at} {name}" for name in _shorter(field)), at, at.partition(" ")[0])
    return next((PLACES[each] for each in wanted if each in PLACES), "")


def _shorter(field: str) -> Iterator[str]:
    """`gates[0].approval.who`, then `gates.approval`, then `gates`."""
    names = re.sub(r"\[\d+\]", "", field).split(".")
    for count in range(len(names), 0, -1):
        yield ".".join(names[:count])
