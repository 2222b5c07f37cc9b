"""What a text answers: yes, no, or nothing that one could be sure of."""

from __future__ import annotations

import pytest

from pipelines.work.language_models.answer_text import parsed_verdict

ANSWERS = {
    "yes": "yes",
    "no\n": "no",
    "It compiles.\nYes.": "yes",
    "It compiles.\n**No**": "no",
    "Answer: yes": "yes",
    "No problem at all.\nyes": "yes",
    "yes\nOn second thought:\nno": "no",
    "yes\n\nThere is no problem.": "yes",
    '{"answer": "no", "explanation": "Two tests fail."}': "no",
    '```json\n{"answer": "Yes"}\n```': "yes",
    "I would say yes": "yes",
    "Yes, there is no problem.": "",
    "perhaps": "",
    "Nobody knows yesterday's nose.": "",
    "": "",
    '{"answer": "perhaps"}': "",
    '{"verdict": "yes"}': "yes",
}


@pytest.mark.parametrize(("text", "word"), ANSWERS.items(), ids=[repr(text)[:40] for text in ANSWERS])
def test_A26_the_last_yes_or_no_counts_and_nothing_else_is_an_answer(text: str, word: str) -> None:
    assert parsed_verdict(text).word == word


def test_the_rest_of_the_text_is_the_explanation() -> None:
    assert parsed_verdict("Two tests fail.\nThey are old.\n\nno\n").why == "Two tests fail.\nThey are old."
    assert parsed_verdict('{"answer": "no", "explanation": " Two tests fail. "}').why == "Two tests fail."
