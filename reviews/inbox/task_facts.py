"""Facts of a task for whoever has to answer about it: inputs, files with their texts, and earlier answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pipelines.models import Artifact, Blob, Job, Purpose, Task
from pipelines.queries.task_view import filled_inputs_with_labels
from pipelines.routing.document.line import ParsedLine
from pipelines.routing.sentences.names import station_name
from pipelines.web.tasks.artifacts import text_preview_or_none
from pipelines.work.results.text import Masker
from pipelines.work.storage import artifact_storage
from pipelines.work.transport.local.station_values import task_masker

MOST_FILES = 8
MOST_TEXTS, LONGEST_TEXT = 3, 4_000
"""Files whose text is shown at once, and the bytes of one."""
MOST_ANSWERS = 10


@dataclass(frozen=True)
class FactFile:
    """File that a station left. `text`: None where it is long, or no text."""

    artifact: Artifact
    text: str | None


@dataclass(frozen=True)
class EarlierAnswer:
    """Words that a station was given by people. `question`: what it had asked, "" where it had asked nothing."""

    station: str
    question: str
    text: str


class TaskFacts:
    """Facts of one task; each is read when it is shown."""

    def __init__(self, task: Task, line: ParsedLine, artifacts: Sequence[Artifact]) -> None:
        self.task, self._line, self._artifacts = task, line, artifacts

    @property
    def inputs(self) -> list[tuple[str, str]]:
        return filled_inputs_with_labels(self._line, self.task)

    @cached_property
    def _masker(self) -> Masker:
        return task_masker(self.task)

    @cached_property
    def answers(self) -> list[EarlierAnswer]:
        """Answers that people gave to its stations, the latest first."""
        masked = self._masker.masked_text
        answered = Job.objects.filter(task=self.task, purpose=Purpose.STATION).exclude(feedback="")
        rows = answered.order_by("-pk").values_list("station", "asked", "feedback")[:MOST_ANSWERS]
        return [
            EarlierAnswer(station_name(self._line, station), masked(question), masked(feedback))
            for station, question, feedback in rows
        ]

    @cached_property
    def files(self) -> list[FactFile]:
        """The latest files, with the texts of the first short ones."""
        latest = self._artifacts[::-1][:MOST_FILES]
        texts = 0
        files = []
        for artifact in latest:
            text = self._short_text_or_none(artifact.blob) if texts < MOST_TEXTS else None
            texts += text is not None
            files.append(FactFile(artifact, text))
        return files

    def _short_text_or_none(self, blob: Blob) -> str | None:
        if blob.size > LONGEST_TEXT or not blob.name:
            return None
        try:
            with artifact_storage().open(blob.name, "rb") as file:
                text = text_preview_or_none(file.read(LONGEST_TEXT), blob.size)
        except FileNotFoundError:  # deleted by the retention of the project
            return None
        return None if text is None else self._masker.masked_text(text)
