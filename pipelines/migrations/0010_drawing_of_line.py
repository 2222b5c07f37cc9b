from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("pipelines", "0009_falling_back"),
    ]

    operations = [
        migrations.AddField(
            model_name="line",
            name="drawing",
            field=models.ForeignKey(
                blank=True,
                help_text="What lists show: of the live version, or before there is one, of the draft.",
                null=True,
                on_delete=models.SET_NULL,
                related_name="lines",
                to="pipelines.drawing",
            ),
        ),
    ]
