from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("pipelines", "0037_upload_content")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="second_factor",
            field=models.BooleanField(default=False, help_text="Every member has to have a second factor."),
        ),
    ]
