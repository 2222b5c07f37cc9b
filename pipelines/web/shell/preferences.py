"""Theme and density, chosen in the user menu; the server sets both on every page, so that nothing flashes."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from pipelines.models import User
from pipelines.web.shell import errors
from pipelines.web.shell.page import SignedInRequest, sign_in_required

CHOICES = {"theme": User.Theme.values, "density": User.Density.values}


@sign_in_required
@require_POST
def save_preferences(request: SignedInRequest) -> HttpResponse:
    user = request.user
    chosen = {name: request.POST[name] for name in CHOICES if name in request.POST}
    if not chosen or any(value not in CHOICES[name] for name, value in chosen.items()):
        return errors.bad_request(request)
    for name, value in chosen.items():
        setattr(user, name, value)
    user.save(update_fields=list(chosen))
    if request.headers.get("X-Requested-With") == "fetch":
        return HttpResponse(status=204)
    back = request.headers.get("Referer", "")
    safe = url_has_allowed_host_and_scheme(back, {request.get_host()}, require_https=request.is_secure())
    return redirect(back if safe else "account")
