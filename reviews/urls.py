from django.urls import path

from reviews.channels import views as channels
from reviews.channels import views as chats
from reviews.decision import link_views
from reviews.insights import page as insights
from reviews.notifications import following
from reviews.notifications import views as notifications
from reviews.review import (
    attention_actions,
    bulk_decisions,
    decision_history,
    inbox_pages,
    override,
    review_sessions,
    task_findings,
    views,
)

IN = "p/<str:owner>/<str:project>/"

urlpatterns = [
    path("inbox/", views.reviews_page, name="inbox"),
    path(f"{IN}settings/channels/", channels.channels_page, name="project-channels"),
    path(
        f"{IN}settings/channels/<int:channel>/test/", channels.send_test_message_at_once, name="channel-test"
    ),
    path(
        f"{IN}settings/channels/<int:channel>/change/",
        channels.change_topics_of_channel,
        name="channel-change",
    ),
    path(f"{IN}settings/channels/<int:channel>/remove/", channels.remove_channel, name="channel-remove"),
    path(
        f"{IN}settings/channels/messages/<int:message>/", channels.resend_failed_message, name="channel-again"
    ),
    path(f"{IN}follow/", following.start_or_end_follow, name="follow"),
    path("decide/", link_views.confirm_page, name="mail-link"),
    path("decide/<str:token>/", link_views.take_token_from_address, name="mail-link-arrive"),
    path("inbox/several/", bulk_decisions.bulk_decision_page, name="gate-bulk"),
    path("inbox/<uuid:visit>/", views.gate_visit, name="gate-visit"),
    path("inbox/<uuid:visit>/decide/", views.cast_vote, name="gate-decide"),
    path("inbox/<uuid:visit>/claim/", attention_actions.claim_or_release_action, name="gate-claim"),
    path("inbox/<uuid:visit>/snooze/", attention_actions.snooze_action, name="gate-snooze"),
    path("inbox/<uuid:visit>/questions/", attention_actions.ask_question_action, name="gate-ask"),
    path(
        "inbox/<uuid:visit>/questions/<int:question>/",
        attention_actions.answer_question_action,
        name="gate-answer",
    ),
    path(
        "inbox/<uuid:visit>/attend/", review_sessions.record_attention_of_who_may_decide, name="gate-attend"
    ),
    path(f"{IN}insights/", insights.project_page, name="insights"),
    path(f"{IN}lines/<str:line>/insights/", insights.line_page, name="line-insights"),
    path(
        f"{IN}lines/<str:line>/sample/<str:gate>/", insights.put_sample_rate_into_draft, name="sample-propose"
    ),
    path(f"{IN}lines/<str:line>/sample/<str:gate>/again/", insights.sample_again, name="sample-again"),
    path(f"{IN}insights/trust/<int:agent>/<str:station>/", insights.raise_trust, name="trust-raise"),
    path(f"{IN}tasks/<str:wi>/findings/", task_findings.task_findings_page, name="task-findings"),
    path("inbox/<uuid:visit>/history.json", decision_history.download_history, name="gate-history"),
    path("inbox/<uuid:visit>/override/", override.override_page, name="gate-override"),
    path("inbox/<uuid:visit>/remarks/", views.save_remark_draft, name="gate-remark"),
    path("inbox/<uuid:visit>/remarks/<int:remark>/", views.discard_or_resolve_remark, name="gate-remark-act"),
    path("needs-me/", views.needs_page, name="needs-me"),
    path("needs-me/count/", inbox_pages.inbox_count, name="needs-count"),
    path("needs-me/<slug:kind>/<str:key>/", inbox_pages.item_page, name="need-act"),
    path("notifications/", notifications.notifications_page, name="notifications"),
    path("notifications/read/", notifications.mark_read, name="notifications-read"),
    path("notifications/<int:notification>/", notifications.open_notification, name="notification"),
    path("account/notifications/", notifications.notification_settings_page, name="account-notifications"),
    path("account/chats/", chats.account_chats_page, name="account-chats"),
    path("account/chats/<int:account>/unlink/", chats.unlink_account, name="account-chat-unlink"),
    path("_mail/", views.mail_folder_page, name="mail-dev"),
    path("_mail/<str:name>/", views.mail_message, name="mail-dev-message"),
]
