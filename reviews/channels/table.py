"""Every channel: adding one is one file and one line here."""

from __future__ import annotations

from reviews.channels import mattermost, slack, teams, webhook

KINDS = (slack.KIND, mattermost.KIND, teams.KIND, webhook.KIND)
BY_KEY = {kind.key: kind for kind in KINDS}
