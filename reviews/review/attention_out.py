"""Claims and questions as the API shows them."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel

from reviews.models import ReviewClaim, ReviewQuestion


class ReviewClaimOut(BaseModel):
    by: str
    until: AwareDatetime

    @classmethod
    def from_claim(cls, row: ReviewClaim) -> ReviewClaimOut:
        return cls(by=str(row.user), until=row.until)


class QuestionOut(BaseModel):
    """`answer` is "" until `asked` has answered."""

    id: int
    by: str
    asked: str
    text: str
    at: AwareDatetime
    answer: str
    answered: AwareDatetime | None

    @classmethod
    def from_question(cls, row: ReviewQuestion) -> QuestionOut:
        return cls(
            id=row.pk,
            by=str(row.asked_by),
            asked=str(row.asked),
            text=row.text,
            at=row.at,
            answer=row.answer,
            answered=row.answered_at,
        )
