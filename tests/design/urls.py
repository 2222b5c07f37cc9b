"""The design pages with the addresses that the shell looks for, without the pages of other rooms."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import RequestContext, Template
from django.urls import path

from pipelines.web.shell.design import design_page

RESULTS = '<a class="option" role="option" id="r1" href="/found/">Repository check</a>'
SHELL_NAMES = ("home", "needs-me", "tasks-everywhere", "account", "preferences", "help", "notifications", "sign-out",
    "sign-in")  # fmt: skip
PROJECT_NAMES = ("tasks", "lines", "project-settings", "task-new-choose")


def empty(request: HttpRequest, **names: str) -> HttpResponse:
    return HttpResponse("")


def count(request: HttpRequest) -> HttpResponse:
    return HttpResponse("7")


def results(request: HttpRequest) -> HttpResponse:
    return HttpResponse(RESULTS if "rep" in request.GET.get("q", "") else "")


BOARD = """{% load gateline django_htmx %}<!doctype html><html><head>
{% htmx_script %}{% vite "shell" %}{% vite "board" %}
</head><body><button hx-get="/board/?card=review" hx-target="#board" hx-swap="innerHTML">Move</button><div id="board">
<!-- columns -->{% for key in columns %}<section data-column="{{ key }}">
{% if key == card %}<article data-card="7"><a href="#7">WI-app-7</a></article>{% endif %}
</section>{% endfor %}</div></body></html>"""


def board(request: HttpRequest) -> HttpResponse:
    """A board of three columns with one card; htmx asks for it with the card elsewhere."""
    context = {
        "card": request.GET.get("card", "checkout"),
        "columns": ("checkout", "review", "ended"),
    }
    page = Template(BOARD).render(RequestContext(request, context))
    fragment = page[page.index("<!-- columns -->") : page.index("</div></body>")]
    return HttpResponse(fragment if request.headers.get("HX-Request") else page)


def refused(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=409)


def error(request: HttpRequest, name: str) -> HttpResponse:
    context = {"message": "What the server knows", "back": "/", "why": "cancelled"}
    return render(request, f"errors/{name}.html", context)


urlpatterns = [
    path("_design/", design_page, name="design"),
    path("needs-me/count/", count, name="needs-count"),
    path("board/", board),
    path("_design/refused/", refused),
    path("palette/", results, name="palette"),
    path("errors/<str:name>/", error),
    *(path(f"{name}/", empty, name=name) for name in SHELL_NAMES),
    *(path(f"p/<str:owner>/<str:project>/{name}/", empty, name=name) for name in PROJECT_NAMES),
]
