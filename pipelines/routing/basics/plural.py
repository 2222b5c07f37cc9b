"""The form of a text that goes with a number."""


def singular_or_plural(singular: str, plural: str, number: int) -> str:
    return singular if number == 1 else plural
