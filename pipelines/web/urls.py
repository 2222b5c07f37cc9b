"""Every page of `pipelines`. Each has its row in tests/access/matrix.py."""

from __future__ import annotations

from django.urls import path

from pipelines.web.account import absence_page, account, join, sign_in
from pipelines.web.account.allauth_urls import urlpatterns as allauth_pages
from pipelines.web.editor import page
from pipelines.web.help import help as help_pages
from pipelines.web.help import palette
from pipelines.web.home import home
from pipelines.web.lines import edit, images, lines, scenarios
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
    path("", home.home_page, name="home"),
    path("first-steps/dismiss/", home.dismiss_first_steps, name="first-steps-dismiss"),
    path("tasks/", tables.all_tasks_page, name="tasks-everywhere"),
    path("tasks/live/", open_work.open_work_page, name="tasks-live"),
    path("new-task/", start.choose_line_everywhere_page, name="task-new-everywhere"),
    path("projects/", general.project_list, name="projects"),
    # Signing in
    path("sign-in/", sign_in.SignInView.as_view(), name="sign-in"),
    *allauth_pages,
    path("sign-in/password/", sign_in.set_password, name="password-set"),
    path("sign-in/<str:secret>/", sign_in.sign_in_by_link, name="sign-in-link"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("join/<str:secret>/", join.join_page, name="join"),
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
    path("preferences/", preferences.save_preferences, name="preferences"),
    path("palette/", palette.palette_results, name="palette"),
    path("help/", help_pages.help_contents_page, name="help"),
    path("help/<slug:page>/", help_pages.help_page, name="help-page"),
    path("help/pictures/<slug:picture>.svg", help_pages.picture_file, name="help-picture"),
    # Development only: 404 elsewhere
    path("_design/", design.design_page, name="design"),
    # A project
    path(IN, settings.redirect_to_lines, name="project"),
    path(f"{IN}setup/", setup.setup_page, name="project-setup"),
    path(f"{IN}new-task/", start.choose_line_page, name="task-new-choose"),
    path(f"{IN}settings/", settings.project_members_page, name="project-settings"),
    path(f"{IN}settings/members/add/", settings.add_member, name="member-add"),
    path(f"{IN}settings/members/<int:member>/", member.member_page, name="member-change"),
    path(f"{IN}settings/members/<int:member>/account/", member.change_account, name="member-account"),
    path(f"{IN}settings/members/<int:member>/reset-link/", member.reset_link, name="member-reset-link"),
    path(f"{IN}settings/leave/", member.leave_project, name="project-leave"),
    path(f"{IN}settings/invitations/", invitations.invite_person, name="member-invite"),
    path(
        f"{IN}settings/invitations/<int:invitation>/",
        invitations.renew_or_revoke_invitation,
        name="invitation-change",
    ),
    path(f"{IN}settings/audit/", audit.audit_log, name="project-audit"),
    path(f"{IN}settings/audit.jsonl", audit.export_audit, name="project-audit-export"),
    path(f"{IN}settings/agents/", agents.agents_page, name="project-agents"),
    path(f"{IN}settings/agents/<int:agent>/", agents.agent_page, name="project-agent"),
    path(f"{IN}settings/agents/<int:agent>/suspend/", agents.suspend_project_agent, name="agent-suspend"),
    path(f"{IN}settings/agents/<int:agent>/restore/", agents.restore_project_agent, name="agent-restore"),
    path(f"{IN}settings/runners/", runners.runners_page, name="project-runners"),
    path(f"{IN}settings/runners/<int:token>/drain/", runners.drain_runner, name="runner-drain"),
    path(f"{IN}settings/runners/<int:token>/resume/", runners.resume_runner, name="runner-resume"),
    path(f"{IN}settings/runners/<int:token>/revoke/", runners.revoke_runner, name="runner-revoke"),
    path(f"{IN}settings/groups/", settings.groups_page, name="project-groups"),
    path(f"{IN}settings/groups/<int:group>/", settings.change_group, name="group-change"),
    path(f"{IN}settings/tokens/", tokens.machine_tokens, name="project-tokens"),
    path(
        f"{IN}settings/tokens/<int:token>/revoke/", tokens.revoke_machine_token, name="machine-token-revoke"
    ),
    path(f"{IN}settings/general/", general.general_page, name="project-general"),
    path(f"{IN}settings/general/second-factor/", general.change_second_factor, name="project-second-factor"),
    path(f"{IN}settings/working-time/", working_time.working_time_page, name="project-working-time"),
    path(f"{IN}settings/general/cost-limit/", general.change_cost_limit, name="project-cost-limit"),
    path(f"{IN}settings/general/archive/", general.archive_project, name="project-archive"),
    path(f"{IN}settings/general/restore/", general.restore_project, name="project-restore"),
    path(f"{IN}settings/general/transfer/", general.transfer_project, name="project-transfer"),
    path(f"{IN}settings/repositories/", repositories.repositories_page, name="project-repositories"),
    path(
        f"{IN}settings/repositories/<int:repository>/",
        repository_saving.edit_repository_page,
        name="project-repository",
    ),
    path(
        f"{IN}settings/repositories/folders/<int:folder>/revoke/",
        repositories.revoke_folder,
        name="project-folder-revoke",
    ),
    path(
        f"{IN}settings/repositories/<int:repository>/test/",
        repositories.test_repository,
        name="project-repository-test",
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
    path(f"{IN}settings/notices/<int:notice>/drop/", host_notices.drop_notice, name="project-notice-drop"),
    path(
        f"{IN}settings/triggers/<int:trigger>/delete/",
        repositories.delete_trigger,
        name="project-trigger-delete",
    ),
    path(f"{IN}settings/secrets/", stored_values.stored_values_page, name="project-secrets"),
    path(f"{IN}settings/secrets/<int:value>/delete/", stored_values.delete, name="project-secret-delete"),
    # Lines
    path(f"{IN}lines/", lines.lines_page, name="lines"),
    path(f"{IN}pause/", pausing.pause_project, name="project-pause"),
    path(f"{IN}resume/", pausing.resume_project, name="project-resume"),
    path(f"{IN}lines-new/", lines.new_line, name="lines-new"),
    path(f"{IN}drawings/<str:drawing>.svg", images.image, name="drawing"),
    path(LINE, lines.line_overview_page, name="line"),
    path(f"{LINE}edit/", edit.edit_text_page, name="line-edit"),
    path(f"{LINE}draw/", page.editor_page, name="line-draw"),
    path(f"{IN}triggers/", triggers.project_triggers_page, name="project-triggers"),
    path(f"{IN}triggers/new/", triggers.choose_line_of_new, name="trigger-new-choose"),
    path(f"{LINE}triggers/", triggers.triggers_page, name="line-triggers"),
    path(f"{LINE}triggers/new/", triggers.new_trigger_page, name="trigger-new"),
    path(f"{LINE}triggers/next-runs/", triggers.next_runs, name="trigger-next-runs"),
    path(f"{LINE}triggers/example/", triggers.example_fragment, name="trigger-example"),
    path(f"{LINE}triggers/<int:line_trigger>/rotate/", triggers.rotate_secret, name="trigger-rotate"),
    path(f"{LINE}triggers/<int:line_trigger>/", triggers.edit_trigger_page, name="trigger-change"),
    path(f"{LINE}triggers/<int:line_trigger>/pause/", triggers.pause_trigger, name="trigger-pause"),
    path(f"{LINE}triggers/<int:line_trigger>/try/", triggers.try_out_trigger, name="trigger-try"),
    path(f"{LINE}triggers/<int:line_trigger>/log/", triggers.deliveries_page, name="trigger-log"),
    path(f"{LINE}triggers/<int:line_trigger>/delete/", triggers.delete, name="trigger-delete"),
    path(f"{LINE}settings/", line_settings.line_settings_page, name="line-settings"),
    path(f"{LINE}settings/archive/", line_settings.archive_line, name="line-archive"),
    path(f"{LINE}settings/restore/", line_settings.restore_line, name="line-unarchive"),
    path(f"{LINE}settings/duplicate/", line_settings.duplicate_line, name="line-duplicate"),
    path(f"{LINE}publish/", publish.publish_page, name="line-publish"),
    path(f"{LINE}publish/send-back/", publish.send_back, name="line-send-back"),
    path(f"{LINE}publish/<int:number>/", publish.published_version, name="line-published"),
    path(f"{LINE}export/", lines.export_line, name="line-export"),
    path(f"{LINE}events.jsonl", events.download_line_events, name="line-events"),
    path(f"{LINE}pause/", pausing.pause_line_or_station, name="line-pause"),
    path(f"{LINE}resume/", pausing.resume_line_or_station, name="line-resume"),
    path(f"{LINE}live/", board.board_page, name="line-live"),
    path(f"{LINE}tasks/", tables.line_tasks_page, name="line-tasks"),
    path(f"{LINE}tests/", scenarios.scenarios_page, name="line-tests"),
    path(f"{LINE}tests/run/", scenarios.run_scenarios, name="line-tests-run"),
    path(f"{LINE}tests/generate/", scenarios.generate_scenarios, name="line-tests-generate"),
    path(f"{LINE}tests/delete/", scenarios.delete, name="line-tests-delete"),
    path(f"{LINE}tests/export/", scenarios.export_scenarios, name="line-tests-export"),
    path(f"{LINE}versions/", history.versions_page, name="line-versions"),
    path(f"{LINE}versions/restore/", history.restore_version, name="line-restore"),
    path(f"{LINE}versions/backtest/", backtest.backtest_page, name="line-backtest"),
    path(f"{LINE}versions/difference/", difference.difference_page, name="line-difference"),
    path(f"{LINE}versions/impact/", impact.impact_page, name="line-impact"),
    path(f"{LINE}versions/impact/migrate/", impact.migrate_tasks, name="line-migrate"),
    path(f"{LINE}migrations/<uuid:migration>/undo/", impact.undo_migration, name="migration-undo"),
    path(
        f"{LINE}migrations/<uuid:migration>/continue/", impact.continue_migration, name="migration-continue"
    ),
    path(f"{LINE}versions/<int:number>/", history.version_page, name="line-version"),
    path(f"{LINE}versions/<int:number>/name/", history.rename_version, name="line-version-name"),
    path(f"{LINE}new/", start.start_task_page, name="task-new"),
    # Tasks
    path(f"{IN}tasks/", tables.project_tasks_page, name="tasks"),
    path(f"{IN}events.jsonl", events.download_project_events, name="project-events"),
    path(TASK, task.task_page, name="task"),
    path(f"{TASK}receipt/", receipts.download_receipt, name="task-receipt"),
    path(f"{TASK}unchanged/", unchanged_run.unchanged_run_part, name="task-unchanged"),
    path(f"{TASK}log/", task.log_lines_part, name="task-log"),
    path(f"{TASK}log/download/", task.download_log, name="task-log-download"),
    path(f"{TASK}events.jsonl", events.download_task_events, name="task-events"),
    path(f"{TASK}artifacts/<int:artifact>/", artifacts.download_artifact, name="artifact"),
    path(f"{TASK}files/<str:digest>/", changed_files.download_file, name="task-file"),
    path(f"{TASK}viewed/", changed_files.toggle_file_viewed, name="task-file-viewed"),
    path(f"{TASK}inputs/<str:key>/", artifacts.download_input, name="task-input"),
    path(f"{TASK}inputs/<str:key>/preview/", artifacts.preview_input, name="task-input-preview"),
    path(f"{TASK}jobs/<int:job>/complete/", actions.manual_form_page, name="job-complete"),
    path(f"{TASK}tokens/<int:token>/answer/", actions.answer_position, name="task-answer"),
    path(f"{TASK}tokens/<int:token>/handoff/", actions.hand_over_document, name="task-handoff"),
    path(f"{TASK}tokens/<int:token>/metadata/", actions.supply_metadata, name="task-supply"),
    path(f"{TASK}tokens/<int:token>/hold/", actions.hold_position, name="task-hold"),
    path(f"{TASK}tokens/<int:token>/release/", actions.release_position, name="task-release"),
    path(f"{TASK}tokens/<int:token>/move/", moving.move_position, name="task-move"),
    path(f"{TASK}tokens/<int:token>/move/plan/", moving.move_plan_fragment, name="task-move-plan"),
    path(f"{TASK}tokens/<int:token>/rerun-checks/", actions.rerun_host_checks, name="task-rerun-checks"),
    path(f"{TASK}pause/", pausing.pause_task, name="task-pause"),
    path(f"{TASK}resume/", pausing.resume_task, name="task-resume"),
    path(f"{TASK}retry/", actions.retry_ended_task, name="task-retry-ended"),
    path(f"{TASK}test/", scenarios.record_task, name="task-test"),
    path(f"{TASK}cancel/", actions.cancel_task, name="task-cancel"),
    path(f"{TASK}escalate/", escalations.escalate_task, name="task-escalate"),
    path(
        f"{TASK}escalations/<uuid:escalation>/resolve/",
        escalations.resolve_task_escalation,
        name="task-resolve",
    ),
    path(f"{TASK}deadlocks/<uuid:deadlock>/resolve/", escalations.resolve_deadlock, name="task-unlock"),
]
