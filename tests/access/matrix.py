"""Every address of the product × every kind of person: who gets in. A route without a row fails. Operations of the
API stand in matrix_api.py.

    >    shown the door: sent to the sign-in page, for the API 401
    0    there is no such thing for this person: 404
    -    may see the project, but not do this: 403
    y    gets in; a POST is sent empty, so that it answers with what is missing and changes nothing
    a    needs nobody to be signed in

The machine's token is a bearer of the API: a page does not know it and shows the door, a gate never opens to it.
"""

from __future__ import annotations

ROLES = ("anonymous", "stranger", "viewer", "operator", "designer", "reviewer", "admin", "machine")

# Routes by their name; two rows where GET and POST have different answers.
PAGES = """
                             anonymous  stranger  viewer  operator  designer  reviewer  admin  machine
GET  healthz                 a          a         a       a         a         a         a      a
GET  llms-txt                a          a         a       a         a         a         a      a
GET  metrics                 a          a         a       a         a         a         a      a
GET  admin:index             -          -         -       -         -         -         -      -
GET  design                  0          0         0       0         0         0         0      0
GET  sign-in                 a          a         a       a         a         a         a      a
POST sign-in                 a          a         a       a         a         a         a      a
GET  sign-in-link            a          a         a       a         a         a         a      a
POST sign-in-link            a          a         a       a         a         a         a      a
GET  account_login           a          a         a       a         a         a         a      a
POST account_login           a          a         a       a         a         a         a      a
POST account_logout          a          a         a       a         a         a         a      a
GET  openid_connect_login    a          a         a       a         a         a         a      a
GET  openid_connect_callback  a         a         a       a         a         a         a      a
GET  socialaccount_login_cancelled  a   a         a       a         a         a         a      a
GET  account_signup          a          a         a       a         a         a         a      a
GET  account_inactive        a          a         a       a         a         a         a      a
GET  mfa_authenticate        a          a         a       a         a         a         a      a
POST mfa_authenticate        a          a         a       a         a         a         a      a
GET  mfa_reauthenticate      >          y         y       y         y         y         y      >
GET  mfa_index               >          y         y       y         y         y         y      >
GET  mfa_add_webauthn            >   y   y   y   y   y   y   >
POST mfa_add_webauthn            >   y   y   y   y   y   y   >
GET  mfa_remove_webauthn         >   y   y   y   y   y   y   >
GET  mfa_reauthenticate_webauthn >   y   y   y   y   y   y   >
GET  mfa_list_webauthn       a  a  a  a  a  a  a  a
GET  mfa_login_webauthn      a  a  a  a  a  a  a  a
POST mfa_login_webauthn      a  a  a  a  a  a  a  a
GET  mfa_activate_totp       >          y         y       y         y         y         y      >
POST mfa_activate_totp       >          y         y       y         y         y         y      >
GET  mfa_deactivate_totp     >          0         0       0         0         0         0      >
GET  mfa_view_recovery_codes  >         0         0       0         0         0         0      >
GET  mfa_generate_recovery_codes  >     y         y       y         y         y         y      >
POST mfa_generate_recovery_codes  >     y         y       y         y         y         y      >
GET  mfa_download_recovery_codes  >     0         0       0         0         0         0      >
GET  account_reset_password  a          a         a       a         a         a         a      a
POST account_reset_password  a          a         a       a         a         a         a      a
GET  account_reset_password_done  a     a         a       a         a         a         a      a
GET  account_reset_password_from_key_done  a  a   a       a         a         a         a      a
GET  account_reset_password_from_key  a  a        a       a         a         a         a      a
POST account_reset_password_from_key  a  a        a       a         a         a         a      a
GET  account_reauthenticate  >          y         y       y         y         y         y      >
POST account_reauthenticate  >          y         y       y         y         y         y      >
GET  join                    a          a         a       a         a         a         a      a
POST join                    a          a         a       a         a         a         a      a
POST sign-out                a          a         a       a         a         a         a      a
GET  password-set            >          y         y       y         y         y         y      >
POST password-set            >          y         y       y         y         y         y      >
GET  home                    >          y         y       y         y         y         y      >
POST first-steps-dismiss     >          y         y       y         y         y         y      >
GET  activity                >          y         y       y         y         y         y      >
GET  tasks-live              >          y         y       y         y         y         y      >
GET  task-bulk-commands      >          y         y       y         y         y         y      >
POST task-bulk-commands      >          y         y       y         y         y         y      >
GET  task-bulk-command       >          0         0       0         0         0         y      >
POST task-bulk-start         >          0         0       0         0         0         y      >
POST task-bulk-stop          >          0         0       0         0         0         y      >
GET  tasks-everywhere        >          y         y       y         y         y         y      >
GET  task-new-everywhere     >          y         y       y         y         y         y      >
GET  projects                >          y         y       y         y         y         y      >
POST projects                >          y         y       y         y         y         y      >
GET  account                 >          y         y       y         y         y         y      >
POST account                 >          y         y       y         y         y         y      >
POST password-change         >          y         y       y         y         y         y      >
POST sessions-end            >          y         y       y         y         y         y      >
POST token-new               >          y         y       y         y         y         y      >
GET  command-line            >          y         y       y         y         y         y      >
POST command-line            >          y         y       y         y         y         y      >
POST token-revoke            >          0         0       0         0         0         0      >
POST preferences             >          y         y       y         y         y         y      >
GET  palette                 >          y         y       y         y         y         y      >
GET  help                    >          y         y       y         y         y         y      >
GET  help-page               >          y         y       y         y         y         y      >
GET  help-picture            >          y         y       y         y         y         y      >
GET  inbox                   >          y         y       y         y         y         y      >
GET  gate-visit              >          0         y       y         y         y         y      >
POST gate-decide             >          0         y       y         y         y         y      >
POST account-chat-unlink     >          0         0       0         0         0         y      >
POST follow                  >          0         0       0         0         0         0      >
GET  project-channels        >          0         -       -         -         -         y      >
POST project-channels        >          0         -       -         -         -         y      >
POST channel-test            >          0         -       -         -         -         y      >
POST channel-again           >          0         -       -         -         -         y      >
POST channel-change          >          0         -       -         -         -         y      >
POST channel-remove          >          0         -       -         -         -         y      >
GET  mail-link               0          0         0       0         0         0         0      0
POST mail-link               0          0         0       0         0         0         0      0
GET  mail-link-arrive        a          a         a       a         a         a         a      a
GET  gate-bulk               >          y         y       y         y         y         y      >
POST gate-bulk               >          y         y       y         y         y         y      >
POST gate-claim              >          0         -       -         -         y         y      >
POST gate-snooze             >          0         y       y         y         y         y      >
POST gate-ask                >          0         -       -         -         y         y      >
POST gate-answer             >          0         -       y         -         -         -      >
POST gate-attend             >          0         y       y         y         y         y      >
GET  insights                >          0         y       y         y         y         y      >
GET  gate-history            >          0         y       y         y         y         y      >
GET  gate-override           >          0         -       -         -         -         y      >
POST gate-override           >          0         -       -         -         -         y      >
POST gate-remark             >          0         -       -         -         y         y      >
POST gate-remark-act         >          0         0       0         0         0         0      >
GET  needs-me                >          y         y       y         y         y         y      >
GET  needs-count             >          y         y       y         y         y         y      >
GET  need-act                >          0         -       y         y         y         y      >
POST need-act                >          0         -       y         y         y         y      >
GET  notifications           >          y         y       y         y         y         y      >
POST notifications-read      >          y         y       y         y         y         y      >
GET  notification            >          0         0       0         0         0         y      >
GET  account-notifications   >          y         y       y         y         y         y      >
POST account-notifications   >          y         y       y         y         y         y      >
GET  account-away            >          y         y       y         y         y         y      >
POST account-away            >          y         y       y         y         y         y      >
GET  account-chats           >          y         y       y         y         y         y      >
POST account-chats           >          y         y       y         y         y         y      >
POST absence-end             >          0         0       0         0         0         y      >
GET  mail-dev                >          0         0       0         0         0         0      >
GET  mail-dev-message        >          0         0       0         0         0         0      >
GET  project                 >          0         y       y         y         y         y      >
GET  task-new-choose         >          0         -       y         y         y         y      >
GET  project-settings        >          0         y       y         y         y         y      >
POST member-add              >          0         -       -         -         -         y      >
GET  member-change           >          0         -       -         -         -         y      >
POST member-change           >          0         -       -         -         -         y      >
POST member-account          >          0         -       -         -         -         y      >
POST member-reset-link       >          0         -       -         -         -         y      >
POST project-leave           >          0         y       y         y         y         y      >
POST member-invite           >          0         -       -         -         -         y      >
POST invitation-change       >          0         -       -         -         -         y      >
GET  project-audit           >          0         -       -         -         -         y      >
GET  project-audit-export    >          0         -       -         -         -         y      >
GET  project-setup           >          0         -       -         y         -         y      >
POST project-setup           >          0         -       -         y         -         y      >
GET  project-agents          >          0         y       y         y         y         y      >
POST project-agents          >          0         -       -         -         -         y      >
GET  project-agent           >          0         y       y         y         y         y      >
POST project-agent           >          0         -       -         -         -         y      >
POST agent-suspend           >          0         -       -         -         -         y      >
POST agent-restore           >          0         -       -         -         -         y      >
GET  project-runners         >          0         y       y         y         y         y      >
POST project-runners         >          0         -       -         -         -         y      >
POST runner-drain            >          0         -       -         -         -         y      >
POST runner-resume           >          0         -       -         -         -         y      >
POST runner-revoke           >          0         -       -         -         -         y      >
GET  project-groups          >          0         -       -         -         -         y      >
POST project-groups          >          0         -       -         -         -         y      >
POST group-change            >          0         -       -         -         -         y      >
GET  project-tokens          >          0         -       -         -         -         y      >
POST project-tokens          >          0         -       -         -         -         y      >
POST machine-token-revoke    >          0         -       -         -         -         y      >
GET  project-general         >          0         -       -         -         -         y      >
POST project-general         >          0         -       -         -         -         y      >
POST project-cost-limit      >          0         -       -         -         -         y      >
POST project-quotas          >          0         -       -         -         -         y      >
POST project-retention       >          0         -       -         -         -         y      >
GET  project-working-time    >          0         -       -         -         -         y      >
POST project-working-time    >          0         -       -         -         -         y      >
POST project-second-factor   >          0         -       -         -         -         y      >
POST project-archive         >          0         -       -         -         -         y      >
POST project-restore         >          0         -       -         -         -         y      >
POST project-transfer        >          0         -       -         -         -         y      >
GET  project-repositories    >          0         -       -         y         -         y      >
POST project-repositories    >          0         -       -         -         -         y      >
GET  project-repository      >          0         -       -         -         -         y      >
POST project-repository      >          0         -       -         -         -         y      >
POST project-repository-test  >         0         -       -         -         -         y      >
POST project-repository-prepare  >      0         -       -         -         -         y      >
POST project-repository-trigger  >      0         -       -         -         -         y      >
POST project-notice-send     >          0         -       -         -         -         y      >
POST project-notice-drop     >          0         -       -         -         -         y      >
POST project-trigger-delete  >          0         -       -         -         -         y      >
POST project-repository-delete  >       0         -       -         -         -         y      >
POST project-folder-revoke   >          0         -       -         -         -         0      >
GET  project-secrets         >          0         -       -         y         -         y      >
POST project-secrets         >          0         -       -         -         -         y      >
POST project-secret-delete   >          0         -       -         -         -         y      >
GET  drawing                 >          0         y       y         y         y         y      >
GET  lines                   >          0         y       y         y         y         y      >
GET  lines-new               >          0         -       -         y         -         y      >
POST lines-new               >          0         -       -         y         -         y      >
GET  line                    >          0         y       y         y         y         y      >
GET  line-edit               >          0         -       -         y         -         y      >
POST line-edit               >          0         -       -         y         -         y      >
GET  line-draw               >          0         y       y         y         y         y      >
GET  project-triggers        >          0         y       y         y         y         y      >
GET  trigger-new-choose      >          0         -       y         y         y         y      >
GET  line-triggers           >          0         y       y         y         y         y      >
GET  trigger-new             >          0         -       y         y         y         y      >
POST trigger-new             >          0         -       y         y         y         y      >
GET  trigger-next-runs       >          0         -       y         y         y         y      >
GET  trigger-change          >          0         -       y         y         y         y      >
POST trigger-change          >          0         -       y         y         y         y      >
POST trigger-example         >          0         -       y         y         y         y      >
POST trigger-rotate          >          0         -       y         y         y         y      >
POST trigger-pause           >          0         -       y         y         y         y      >
POST trigger-try             >          0         -       y         y         y         y      >
GET  trigger-log             >          0         y       y         y         y         y      >
POST trigger-delete          >          0         -       y         y         y         y      >
GET  line-settings           >          0         -       -         y         -         y      >
POST line-settings           >          0         -       -         y         -         y      >
POST line-describe           >          0         -       -         y         -         y      >
POST line-limit              >          0         -       -         y         -         y      >
POST line-archive            >          0         -       -         y         -         y      >
POST line-unarchive          >          0         -       -         y         -         y      >
POST line-duplicate          >          0         -       -         y         -         y      >
GET  line-publish            >          0         -       -         y         -         y      >
POST line-publish            >          0         -       -         y         -         y      >
POST line-send-back          >          0         -       -         y         -         y      >
GET  line-published          >          0         y       y         y         y         y      >
GET  line-export             >          0         y       y         y         y         y      >
GET  line-live               >          0         y       y         y         y         y      >
GET  line-tasks              >          0         y       y         y         y         y      >
GET  line-tests              >          0         y       y         y         y         y      >
POST line-tests-run          >          0         y       y         y         y         y      >
POST line-tests-generate     >          0         -       -         y         -         y      >
POST line-tests-delete       >          0         -       -         y         -         y      >
GET  line-tests-export       >          0         y       y         y         y         y      >
GET  line-versions           >          0         y       y         y         y         y      >
GET  line-backtest           >          0         y       y         y         y         y      >
GET  line-evaluations        >          0         y       y         y         y         y      >
POST line-evaluations        >          0         -       -         y         -         y      >
GET  line-evaluation         >          0         y       y         y         y         y      >
POST line-evaluation-stop    >          0         -       -         y         -         y      >
GET  line-difference         >          0         y       y         y         y         y      >
GET  line-insights            >          0         y       y         y         y         y      >
POST sample-propose           >          0         -       -         y         -         y      >
POST sample-again             >          0         -       -         -         -         y      >
POST trust-raise              >          0         -       -         -         -         y      >
GET  line-impact             >          0         y       y         y         y         y      >
POST line-migrate            >          0         -       -         y         -         y      >
POST migration-undo          >          0         -       -         y         -         y      >
POST migration-continue      >          0         -       -         y         -         y      >
GET  line-version            >          0         y       y         y         y         y      >
POST line-version-name       >          0         -       -         y         -         y      >
POST line-restore            >          0         -       -         y         -         y      >
GET  task-new                >          0         -       y         y         y         y      >
POST task-new                >          0         -       y         y         y         y      >
GET  tasks                   >          0         y       y         y         y         y      >
GET  task                    >          0         y       y         y         y         y      >
GET  task-receipt            >          0         y       y         y         y         y      >
GET  task-tombstone          >          0         y       y         y         y         y      >
GET  task-findings           >          0         y       y         y         y         y      >
GET  task-unchanged          >          0         y       y         y         y         y      >
POST task-unchanged          >          0         -       -         y         -         y      >
GET  task-log                >          0         y       y         y         y         y      >
GET  task-log-download       >          0         y       y         y         y         y      >
GET  task-events             >          0         y       y         y         y         y      >
GET  line-events             >          0         y       y         y         y         y      >
GET  project-events          >          0         y       y         y         y         y      >
GET  artifact                >          0         y       y         y         y         y      >
GET  task-file               >          0         y       y         y         y         y      >
POST task-file-viewed        >          0         y       y         y         y         y      >
GET  task-input              >          0         y       y         y         y         y      >
GET  task-input-preview      >          0         y       y         y         y         y      >
GET  job-complete            >          0         -       y         y         y         y      >
POST job-complete            >          0         -       y         y         y         y      >
POST task-answer             >          0         -       y         y         y         y      >
POST task-handoff            >          0         -       y         y         y         y      >
POST task-supply             >          0         -       y         y         y         y      >
POST task-hold               >          0         -       y         y         y         y      >
POST task-release            >          0         -       y         y         y         y      >
POST task-pause              >          0         -       y         y         y         y      >
POST task-resume             >          0         -       y         y         y         y      >
POST line-pause              >          0         -       y         y         y         y      >
POST line-resume             >          0         -       y         y         y         y      >
POST project-pause           >          0         -       -         -         -         y      >
POST project-resume          >          0         -       -         -         -         y      >
GET  task-fork               >          0         -       y         y         y         y      >
POST task-fork               >          0         -       y         y         y         y      >
GET  task-move               >          0         -       y         y         y         y      >
POST task-move               >          0         -       y         y         y         y      >
GET  task-move-plan          >          0         -       y         y         y         y      >
POST task-rerun-checks       >          0         -       y         y         y         y      >
POST task-retry-ended        >          0         -       y         y         y         y      >
POST task-test               >          0         -       -         y         -         y      >
POST task-cancel             >          0         -       y         y         y         y      >
POST task-escalate           >          0         -       y         y         y         y      >
POST task-resolve            >          0         y       y         y         y         y      >
POST task-unlock             >          0         y       y         y         y         y      >
"""

# Sockets: y is accepted, > is refused before accept.
SOCKETS = """
                             anonymous  stranger  viewer  operator  designer  reviewer  admin  machine
/live/?project               >          >         y       y         y         y         y      >
/live/?project&line          >          >         y       y         y         y         y      >
/live/?project&task          >          >         y       y         y         y         y      >
/elsewhere/                  >          >         >       >         >         >         >      >
"""


def table(text: str) -> dict[str, dict[str, str]]:
    """`{"GET home": {"anonymous": ">", …}, …}`."""
    head, *lines = [line.split() for line in text.strip().splitlines()]
    assert tuple(head) == ROLES
    rows = {
        " ".join(words[: -len(ROLES)]): dict(zip(ROLES, words[-len(ROLES) :], strict=True)) for words in lines
    }
    assert len(rows) == len(lines), "a row stands twice"
    return rows
