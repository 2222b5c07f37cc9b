"""The design pages with the addresses that the shell looks for, without the pages of other rooms."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from pipelines.views.design import design

RESULTS = '<a class="option" role="option" id="r1" href="/found/">Repository check</a>'
SHELL_NAMES = ("home", "inbox", "account", "preferences", "help", "notifications", "sign-out", "sign-in")
PROJECT_NAMES = ("tasks", "lines", "project-settings", "task-new-choose")


def empty(request: HttpRequest, **names: str) -> HttpResponse:
    return HttpResponse("")


def count(request: HttpRequest) -> HttpResponse:
    return HttpResponse("7")


def results(request: HttpRequest) -> HttpResponse:
    return HttpResponse(RESULTS if "rep" in request.GET.get("q", "") else "")


def refused(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=409)


def error(request: HttpRequest, name: str) -> HttpResponse:
    return render(request, f"errors/{name}.html", {"message": "What the server knows"})


urlpatterns = [
    path("_design/", design, name="design"),
    path("inbox/count/", count, name="inbox-count"),
    path("_design/refused/", refused),
    path("palette/", results, name="palette"),
    path("errors/<str:name>/", error),
    *(path(f"{name}/", empty, name=name) for name in SHELL_NAMES),
    *(path(f"p/<str:owner>/<str:project>/{name}/", empty, name=name) for name in PROJECT_NAMES),
]
