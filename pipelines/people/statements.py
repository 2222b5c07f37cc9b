"""SQL of people: who a token is."""

from __future__ import annotations

RUNNER_TOKENS = """
    SELECT to_json(token)::text, to_json(project)::text, to_json(owner)::text
    FROM pipelines_apitoken token JOIN pipelines_project project ON project.id = token.project_id
      JOIN pipelines_owner owner ON owner.id = project.owner_id
    WHERE token.digest = ANY(%s) AND token.kind = 'runner' AND token.revoked_at IS NULL AND token.expires_at > %s"""
