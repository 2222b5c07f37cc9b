"""The search of the help: by the words on a page, and by those that people have for what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.web.help.pages import HelpPage, HelpPart, page_parts
from pipelines.web.help.vocabulary import UNSAID, WORDS

# Characters that are shown before and after a match
AROUND = 90
SHORTEST = 3
"""Characters of a word that is looked for, where there is a longer one."""


@dataclass(frozen=True, slots=True)
class Hit:
    """`part`: where on the page it is said."""

    page: HelpPage
    part: HelpPart
    before: str
    found: str
    after: str


@dataclass(frozen=True, slots=True)
class _Query:
    phrase: str
    words: list[str]

    def vocabulary_match_count(self, page: HelpPage, part: HelpPart) -> int:
        """Return how many of the words people use for this part of the page."""
        known = WORDS.get(f"{page.slug}#{part.anchor}" if part.anchor else page.slug, "").split()
        return sum(word_stem(word) in map(word_stem, known) for word in self.words)

    def rank(self, page: HelpPage) -> tuple[int, int, bool, int]:
        """Return the rank of a page: people's names for it, then the title, then the whole phrase, then the
        number of occurrences."""
        title, text = page.title.lower(), page.text.lower()
        known = max(self.vocabulary_match_count(page, part) for part in page_parts(page))
        times = sum(map(text.count, self.words))
        return known, sum(word in title for word in self.words), self.phrase in text, times


def search_pages(candidates: Iterable[HelpPage], text: str) -> list[Hit]:
    """Pages with all of the words, on them or among the words for them, wherever they stand; the best first, each with
    the place that fits best."""
    phrase = " ".join(text.lower().strip(" ?!.").split())
    query = _Query(phrase, significant_words(phrase))
    hits = [
        page for page in candidates if query.words and all(_page_mentions(page, word) for word in query.words)
    ]
    hits.sort(key=query.rank, reverse=True)
    return [_best_hit(page, query) for page in hits]


def significant_words(phrase: str) -> list[str]:
    """Return the significant words of a search phrase; all words if none is significant."""
    words = phrase.split()
    significant = [word for word in words if len(word) >= SHORTEST and word not in UNSAID]
    return significant or words


def _page_mentions(page: HelpPage, word: str) -> bool:
    known = (
        WORDS.get(f"{page.slug}#{part.anchor}" if part.anchor else page.slug, "") for part in page_parts(page)
    )
    return word_stem(word) in page.text.lower() or any(
        word_stem(word) in map(word_stem, words.split()) for words in known
    )


def word_stem(word: str) -> str:
    """`invite` of invites, inviting and invited: crude, and the same for what is typed and what is known."""
    # The longer endings first; “seed” keeps its own, as too little would be left of it.
    for end in ("ations", "ation", "ings", "ing", "ers", "ed", "es", "s", "e"):
        if word.endswith(end) and len(word) - len(end) >= SHORTEST:
            return word[: -len(end)]
    return word


def _best_hit(page: HelpPage, query: _Query) -> Hit:
    """Return the hit in the part that people mean by the words, else where the phrase, or most of the words,
    come first."""

    def part_rank(part: HelpPart) -> tuple[int, bool, int]:
        text = f"{part.title} {part.text}".lower()
        return (
            query.vocabulary_match_count(page, part),
            query.phrase in text,
            sum(word_stem(word) in text for word in query.words),
        )

    part = max(page_parts(page), key=part_rank)
    low = part.text.lower()
    matched = next(
        (term for term in (query.phrase, *query.words, *map(word_stem, query.words)) if term in low), ""
    )
    # The empty text is found at the beginning: nothing of it stands in this part.
    place = low.index(matched)
    end = place + len(matched)
    return Hit(
        page,
        part,
        part.text[max(0, place - AROUND) : place],
        part.text[place:end],
        part.text[end : end + AROUND],
    )
