"""Every page of `pipelines`. Each has its row in tests/access/matrix.py."""

from __future__ import annotations

from django.urls import path

from pipelines.web.account import absence_page, account, join, sign_in
from pipelines.web.account.allauth_urls import urlpatterns as allauth_pages
from pipelines.web.editor import page
from pipelines.web.help import help as help_pages
from pipelines.web.help import palette
from pipelines.web.home import home
from pipelines.web.lines import edit, lines, scenarios
from pipelines.web.lines import settings as line_settings
from pipelines.web.project import (
    agents,
    audit,
    environment,
    general,
    host_notices,
    invitations,
    member,
    repositories,
    repository_saving,
    runners,
    settings,
    stored_values,
    tokens,
    working_time,
)
from pipelines.web.setup import page as setup
from pipelines.web.shell import design, preferences
from pipelines.web.tasks import (
    actions,
    artifacts,
    board,
    changed_files,
    escalations,
    events,
    moving,
    open_work,
    pausing,
    receipts,
    start,
    tables,
    task,
    unchanged_run,
)
from pipelines.web.triggers import page as triggers
from pipelines.web.versions import backtest, difference, history, impact, publish

IN = "p/<str:owner>/<str:project>/"
LINE = f"{IN}lines/<str:line>/"
TASK = f"{IN}tasks/<str:wi>/"

urlpatterns = [
    path("", home.home, name="home"),
    path("first-steps/dismiss/", home.dismiss_first_steps, name="first-steps-dismiss"),
    path("tasks/", tables.all_tasks, name="tasks-everywhere"),
    path("tasks/live/", open_work.open_work, name="tasks-live"),
    path("new-task/", start.choose_everywhere, name="task-new-everywhere"),
    path("projects/", general.project_list, name="projects"),
    # Signing in
    path("sign-in/", sign_in.SignInView.as_view(), name="sign-in"),
    *allauth_pages,
    path("sign-in/password/", sign_in.set_password, name="password-set"),
    path("sign-in/<str:secret>/", sign_in.sign_in_by_link, name="sign-in-link"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("join/<str:secret>/", join.join, name="join"),
    # Personal
    path("account/", account.account, name="account"),
    path("account/away/", absence_page.absence_page, name="account-away"),
    path("account/away/<int:absence>/end/", absence_page.end_absence, name="absence-end"),
    path("account/password/", account.change_password, name="password-change"),
    path("account/sessions/end/", account.end_sessions, name="sessions-end"),
    path("account/tokens/new/", tokens.create_personal_token, name="token-new"),
    path(
        "account/command-line/<int:port>/<slug:state>/", tokens.create_command_line_token, name="command-line"
    ),
    path("account/tokens/<int:token>/revoke/", tokens.revoke_personal_token, name="token-revoke"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("palette/", palette.palette, name="palette"),
    path("help/", help_pages.contents, name="help"),
    path("help/<slug:page>/", help_pages.page, name="help-page"),
    path("help/pictures/<slug:picture>.svg", help_pages.picture, name="help-picture"),
    # Development only: 404 elsewhere
    path("_design/", design.design, name="design"),
    # A project
    path(IN, settings.redirect_to_lines, name="project"),
    path(f"{IN}setup/", setup.setup, name="project-setup"),
    path(f"{IN}new-task/", start.choose_line, name="task-new-choose"),
    path(f"{IN}settings/", settings.members, name="project-settings"),
    path(f"{IN}settings/members/add/", settings.add_member, name="member-add"),
    path(f"{IN}settings/members/<int:member>/", member.member, name="member-change"),
    path(f"{IN}settings/members/<int:member>/account/", member.change_account, name="member-account"),
    path(f"{IN}settings/members/<int:member>/reset-link/", member.reset_link, name="member-reset-link"),
    path(f"{IN}settings/leave/", member.leave, name="project-leave"),
    path(f"{IN}settings/invitations/", invitations.invite, name="member-invite"),
    path(f"{IN}settings/invitations/<int:invitation>/", invitations.change, name="invitation-change"),
    path(f"{IN}settings/audit/", audit.audit_log, name="project-audit"),
    path(f"{IN}settings/audit.jsonl", audit.export, name="project-audit-export"),
    path(f"{IN}settings/agents/", agents.agents, name="project-agents"),
    path(f"{IN}settings/agents/<int:agent>/", agents.agent, name="project-agent"),
    path(f"{IN}settings/agents/<int:agent>/suspend/", agents.suspend, name="agent-suspend"),
    path(f"{IN}settings/agents/<int:agent>/restore/", agents.restore, name="agent-restore"),
    path(f"{IN}settings/runners/", runners.runners, name="project-runners"),
    path(f"{IN}settings/runners/<int:token>/drain/", runners.drain, name="runner-drain"),
    path(f"{IN}settings/runners/<int:token>/resume/", runners.resume, name="runner-resume"),
    path(f"{IN}settings/runners/<int:token>/revoke/", runners.revoke, name="runner-revoke"),
    path(f"{IN}settings/groups/", settings.groups, name="project-groups"),
    path(f"{IN}settings/groups/<int:group>/", settings.change_group, name="group-change"),
    path(f"{IN}settings/tokens/", tokens.machine_tokens, name="project-tokens"),
    path(
        f"{IN}settings/tokens/<int:token>/revoke/", tokens.revoke_machine_token, name="machine-token-revoke"
    ),
    path(f"{IN}settings/general/", general.general, name="project-general"),
    path(f"{IN}settings/general/second-factor/", general.change_second_factor, name="project-second-factor"),
    path(f"{IN}settings/working-time/", working_time.page, name="project-working-time"),
    path(f"{IN}settings/general/cost-limit/", general.change_cost_limit, name="project-cost-limit"),
    path(f"{IN}settings/general/archive/", general.archive, name="project-archive"),
    path(f"{IN}settings/general/restore/", general.restore, name="project-restore"),
    path(f"{IN}settings/general/transfer/", general.transfer, name="project-transfer"),
    path(f"{IN}settings/repositories/", repositories.index, name="project-repositories"),
    path(f"{IN}settings/repositories/<int:repository>/", repository_saving.edit, name="project-repository"),
    path(
        f"{IN}settings/repositories/folders/<int:folder>/revoke/",
        repositories.revoke_folder,
        name="project-folder-revoke",
    ),
    path(
        f"{IN}settings/repositories/<int:repository>/test/", repositories.test, name="project-repository-test"
    ),
    path(
        f"{IN}settings/repositories/<int:repository>/disconnect/",
        repositories.delete,
        name="project-repository-delete",
    ),
    path(
        f"{IN}settings/repositories/<int:repository>/prepare/",
        environment.allow_hosts,
        name="project-repository-prepare",
    ),
    path(
        f"{IN}settings/repositories/<int:repository>/triggers/",
        repositories.add_trigger,
        name="project-repository-trigger",
    ),
    path(f"{IN}settings/notices/<int:notice>/send/", host_notices.send_again, name="project-notice-send"),
    path(f"{IN}settings/notices/<int:notice>/drop/", host_notices.drop, name="project-notice-drop"),
    path(
        f"{IN}settings/triggers/<int:trigger>/delete/",
        repositories.delete_trigger,
        name="project-trigger-delete",
    ),
    path(f"{IN}settings/secrets/", stored_values.index, name="project-secrets"),
    path(f"{IN}settings/secrets/<int:value>/delete/", stored_values.delete, name="project-secret-delete"),
    # Lines
    path(f"{IN}lines/", lines.lines, name="lines"),
    path(f"{IN}pause/", pausing.pause_project, name="project-pause"),
    path(f"{IN}resume/", pausing.resume_project, name="project-resume"),
    path(f"{IN}lines-new/", lines.new_line, name="lines-new"),
    path(LINE, lines.overview, name="line"),
    path(f"{LINE}edit/", edit.edit, name="line-edit"),
    path(f"{LINE}draw/", page.draw, name="line-draw"),
    path(f"{IN}triggers/", triggers.of_project, name="project-triggers"),
    path(f"{IN}triggers/new/", triggers.choose_line_of_new, name="trigger-new-choose"),
    path(f"{LINE}triggers/", triggers.index, name="line-triggers"),
    path(f"{LINE}triggers/new/", triggers.new, name="trigger-new"),
    path(f"{LINE}triggers/next-runs/", triggers.next_runs, name="trigger-next-runs"),
    path(f"{LINE}triggers/example/", triggers.example, name="trigger-example"),
    path(f"{LINE}triggers/<int:line_trigger>/rotate/", triggers.rotate, name="trigger-rotate"),
    path(f"{LINE}triggers/<int:line_trigger>/", triggers.change, name="trigger-change"),
    path(f"{LINE}triggers/<int:line_trigger>/pause/", triggers.pause, name="trigger-pause"),
    path(f"{LINE}triggers/<int:line_trigger>/try/", triggers.try_out, name="trigger-try"),
    path(f"{LINE}triggers/<int:line_trigger>/log/", triggers.log, name="trigger-log"),
    path(f"{LINE}triggers/<int:line_trigger>/delete/", triggers.delete, name="trigger-delete"),
    path(f"{LINE}settings/", line_settings.settings, name="line-settings"),
    path(f"{LINE}settings/archive/", line_settings.archive, name="line-archive"),
    path(f"{LINE}settings/restore/", line_settings.restore, name="line-unarchive"),
    path(f"{LINE}settings/duplicate/", line_settings.duplicate, name="line-duplicate"),
    path(f"{LINE}publish/", publish.publish, name="line-publish"),
    path(f"{LINE}publish/send-back/", publish.send_back, name="line-send-back"),
    path(f"{LINE}publish/<int:number>/", publish.published_version, name="line-published"),
    path(f"{LINE}export/", lines.export, name="line-export"),
    path(f"{LINE}events.jsonl", events.line_events, name="line-events"),
    path(f"{LINE}pause/", pausing.pause_line, name="line-pause"),
    path(f"{LINE}resume/", pausing.resume_line, name="line-resume"),
    path(f"{LINE}live/", board.board, name="line-live"),
    path(f"{LINE}tasks/", tables.line_tasks, name="line-tasks"),
    path(f"{LINE}tests/", scenarios.tests, name="line-tests"),
    path(f"{LINE}tests/run/", scenarios.run, name="line-tests-run"),
    path(f"{LINE}tests/generate/", scenarios.generate, name="line-tests-generate"),
    path(f"{LINE}tests/delete/", scenarios.delete, name="line-tests-delete"),
    path(f"{LINE}tests/export/", scenarios.export, name="line-tests-export"),
    path(f"{LINE}versions/", history.versions, name="line-versions"),
    path(f"{LINE}versions/restore/", history.restore, name="line-restore"),
    path(f"{LINE}versions/backtest/", backtest.backtest, name="line-backtest"),
    path(f"{LINE}versions/difference/", difference.difference, name="line-difference"),
    path(f"{LINE}versions/impact/", impact.impact, name="line-impact"),
    path(f"{LINE}versions/impact/migrate/", impact.migrate, name="line-migrate"),
    path(f"{LINE}migrations/<uuid:migration>/undo/", impact.undo, name="migration-undo"),
    path(
        f"{LINE}migrations/<uuid:migration>/continue/", impact.continue_migration, name="migration-continue"
    ),
    path(f"{LINE}versions/<int:number>/", history.version, name="line-version"),
    path(f"{LINE}versions/<int:number>/name/", history.rename, name="line-version-name"),
    path(f"{LINE}new/", start.start, name="task-new"),
    # Tasks
    path(f"{IN}tasks/", tables.project_tasks, name="tasks"),
    path(f"{IN}events.jsonl", events.project_events, name="project-events"),
    path(TASK, task.task, name="task"),
    path(f"{TASK}receipt/", receipts.download_receipt, name="task-receipt"),
    path(f"{TASK}unchanged/", unchanged_run.unchanged_run, name="task-unchanged"),
    path(f"{TASK}log/", task.log_lines, name="task-log"),
    path(f"{TASK}log/download/", task.download_log, name="task-log-download"),
    path(f"{TASK}events.jsonl", events.task_events, name="task-events"),
    path(f"{TASK}artifacts/<int:artifact>/", artifacts.download, name="artifact"),
    path(f"{TASK}files/<str:digest>/", changed_files.download_file, name="task-file"),
    path(f"{TASK}viewed/", changed_files.mark_viewed, name="task-file-viewed"),
    path(f"{TASK}inputs/<str:key>/", artifacts.download_input, name="task-input"),
    path(f"{TASK}inputs/<str:key>/preview/", artifacts.preview_input, name="task-input-preview"),
    path(f"{TASK}jobs/<int:job>/complete/", actions.complete, name="job-complete"),
    path(f"{TASK}tokens/<int:token>/answer/", actions.answer, name="task-answer"),
    path(f"{TASK}tokens/<int:token>/handoff/", actions.hand_over, name="task-handoff"),
    path(f"{TASK}tokens/<int:token>/metadata/", actions.supply_metadata, name="task-supply"),
    path(f"{TASK}tokens/<int:token>/hold/", actions.hold, name="task-hold"),
    path(f"{TASK}tokens/<int:token>/release/", actions.release, name="task-release"),
    path(f"{TASK}tokens/<int:token>/move/", moving.move, name="task-move"),
    path(f"{TASK}tokens/<int:token>/move/plan/", moving.move_plan, name="task-move-plan"),
    path(f"{TASK}tokens/<int:token>/rerun-checks/", actions.rerun_checks, name="task-rerun-checks"),
    path(f"{TASK}pause/", pausing.pause_task, name="task-pause"),
    path(f"{TASK}resume/", pausing.resume_task, name="task-resume"),
    path(f"{TASK}retry/", actions.retry_ended, name="task-retry-ended"),
    path(f"{TASK}test/", scenarios.record_task, name="task-test"),
    path(f"{TASK}cancel/", actions.cancel, name="task-cancel"),
    path(f"{TASK}escalate/", escalations.escalate, name="task-escalate"),
    path(f"{TASK}escalations/<uuid:escalation>/resolve/", escalations.resolve, name="task-resolve"),
    path(f"{TASK}deadlocks/<uuid:deadlock>/resolve/", escalations.resolve_deadlock, name="task-unlock"),
]
