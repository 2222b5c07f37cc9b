"""Files that a reader was shown, beside those that they marked as viewed."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0173_publish_requests")]

    operations = [
        migrations.AddField("viewedfile", "marked", models.BooleanField(default=True, db_default=True)),
    ]
