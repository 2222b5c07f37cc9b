"""The table of Django's database cache, in which web processes count guesses together. It may be lost: unlogged."""

from django.db import migrations

TABLE = """
CREATE UNLOGGED TABLE gateline_cache (
    cache_key varchar(255) PRIMARY KEY,
    value text NOT NULL,
    expires timestamptz NOT NULL
);
CREATE INDEX gateline_cache_expires ON gateline_cache (expires);
"""


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0031_people_move_in")]
    operations = [migrations.RunSQL(sql=TABLE, reverse_sql="DROP TABLE gateline_cache;")]
