from django.urls import path

from reviews import views

urlpatterns = [
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/count/", views.inbox_count, name="inbox-count"),
    path("inbox/<uuid:visit>/", views.gate_visit, name="gate-visit"),
    path("inbox/<uuid:visit>/decide/", views.decide, name="gate-decide"),
    path("_mail/", views.mail, name="mail-dev"),
    path("_mail/<str:name>/", views.mail_message, name="mail-dev-message"),
]
