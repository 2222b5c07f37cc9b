"""SQL of the API: answers that are recorded, so that a request that comes twice is carried out once."""

from __future__ import annotations

RECORD_KEY = """INSERT INTO pipelines_recordedanswer (actor, key, request_digest, status, body, at)
            VALUES (%s, %s, %s, 0, '', clock_timestamp()) ON CONFLICT (actor, key) DO NOTHING RETURNING id"""

# Concurrent requests clean up too: each takes other rows, so none waits for another.
DELETE_EXPIRED_ANSWERS = """DELETE FROM pipelines_recordedanswer WHERE id IN (
               SELECT id FROM pipelines_recordedanswer WHERE at < clock_timestamp() - make_interval(hours => %s)
               ORDER BY at LIMIT %s FOR UPDATE SKIP LOCKED)"""

DELETE_SURPLUS_ANSWERS = """DELETE FROM pipelines_recordedanswer WHERE id IN (
               SELECT id FROM pipelines_recordedanswer WHERE actor = %s ORDER BY id DESC OFFSET %s
               FOR UPDATE SKIP LOCKED)"""
