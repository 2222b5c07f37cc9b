"""What becomes of the bytes that work writes."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.work.handlers import job_log
from pipelines.work.handlers.job_log import JobLog
from pipelines.work.results.lines import LineCutter
from pipelines.work.results.output import besides_output_or_empty
from pipelines.work.results.secrets import SecretFinder
from pipelines.work.results.text import LONGEST_LINE, MASK, Masker, escaped_for_storage
from tests.waiting import LONG, eventually, let_others_run

SECRET = "gl_s3cr3t-value"


def lines(*pieces: bytes, secrets: tuple[str, ...] = ()) -> list[str]:
    stream = LineCutter(Masker(secrets))
    found = [line for piece in pieces for line in stream.feed_and_return_whole_lines(piece)]
    return found + stream.feed_and_return_whole_lines(b"", final=True)


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        ((b"one\ntwo\n",), ["one", "two"]),
        ((b"one\r\ntwo\rthree",), ["one", "three"]),
        ((b"10 %\r", b"55 %\r", b"100 %\n"), ["100 %"]),
        ((b"long words\rshort\n",), ["shortwords"]),
        ((b"long words\r\x1b[Kshort\n",), ["short"]),
        ((b"abc\b\bX\n",), ["aXc"]),
        ((b"abcdef\x1b[3D\x1b[KX\x1b[1Gz\n",), ["zbcX"]),
        ((b"a\x1b[4Cb\tc\x1b[2P\r\n",), ["a    b  c"]),
        ((b"\x1b[31mred\x1b[0m\x1b]0;title\x07 \x1b[?25lplain\n",), ["red plain"]),
        ((b"a\x1b[20Cb\x1b[999999D.\n",), ["." + " " * 20 + "b"]),
        ((b"half\x1b", b"[2K\rdone\n"), ["done"]),
        ((b"one\r", b"\ntwo"), ["one", "two"]),
        ((b"\n\n",), ["", ""]),
        (("ü".encode()[:1], "ü".encode()[1:] + b"\n"), ["ü"]),
        ((b"a\x00b\xffc\x1b[1m\x07\n",), ["a\\x00b\\xffc\\x07"]),
        ((b"\xed\xa0\x80\n",), ["\\xed\\xa0\\x80"]),
    ],
)
def test_it_cuts_and_escapes_lines(pieces: tuple[bytes, ...], wanted: list[str]) -> None:
    assert lines(*pieces) == wanted


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        ((b"a gl_s3cr3t", b"-value b\n"), [f"a {MASK} b"]),
        ((b"a gl_s3cr3t", b"-other gl_s3cr3t"), [f"a {MASK}-other {MASK}"]),
        ((b"gl_s3cr3t gl_s3cr3t", b"-val", b"ue\n"), [f"{MASK} {MASK}"]),
        ((b"gl_s3cr3t\n",), [MASK]),
    ],
)
def test_a_secret_that_begins_like_a_shorter_one_is_masked_whole(
    pieces: tuple[bytes, ...], wanted: list[str]
) -> None:
    assert lines(*pieces, secrets=(SECRET, "gl_s3cr3t")) == wanted


def test_it_breaks_a_line_without_an_end() -> None:
    found = lines(*[b"x" * 1000] * 40)
    assert "".join(found) == "x" * 40_000
    assert max(map(len, found)) <= LONGEST_LINE


def test_what_was_written_over_is_counted_and_a_long_line_that_is_written_anew_stays_bounded() -> None:
    stream = LineCutter(Masker(()))
    for percent in range(100_000):
        assert stream.feed_and_return_whole_lines(f"\r{percent:>6} of 100000".encode()) == []
        assert len(stream._rest) <= LONGEST_LINE + 100
    assert stream.feed_and_return_whole_lines(b"\nplain\n\x1b[1mbold\x1b[0m\n") == [
        " 99999 of 100000",
        "plain",
        "bold",
    ]
    assert stream.overwritten == 1


def test_what_a_terminal_puts_together_is_masked() -> None:
    assert lines(b"gl_s3cr3t-XXlue\b\b\b\b\bva\n", secrets=(SECRET,)) == [MASK]
    assert lines(b"gl_s3c\x1b[31mr3t-value\n", secrets=(SECRET,)) == [MASK]
    assert lines(b"XX_s3cr3t-value\rgl\n", secrets=(SECRET,)) == [MASK]


def test_it_writes_out_lone_surrogates() -> None:
    assert escaped_for_storage("a\ud800b\x00") == "a\\ud800b\\x00"


def test_it_masks_the_private_key_in_a_document_that_is_a_secret() -> None:
    """A program takes it out, as `jq -r .private_key` does: then its lines are real ones."""
    body = ["QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9w", "cXJzdHV2d3h5ejAxMjM0NTY3ODkr"]
    pem = "\n".join(["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----", ""])
    document = json.dumps({"type": "service_account", "project_id": "mine", "private_key": pem})
    told = "".join(f"> {line}\n" for line in pem.splitlines())
    found = lines(f"{told}{document}\nservice_account of mine\n".encode(), secrets=(document,))
    assert found == [*[f"> {MASK}"] * 4, MASK, "service_account of mine"]
    finder = SecretFinder([document])
    assert finder.text_holds(f"key = {body[0]}") and finder.text_holds(body[1])
    assert not finder.text_holds("service_account") and not SecretFinder(["{broken"]).text_holds("{")


@given(st.integers(0, 40), st.lists(st.integers(1, 9), max_size=20))
@settings(max_examples=60, deadline=None)
def test_it_masks_a_secret_however_it_is_cut(before: int, cuts: list[int]) -> None:
    data = f"{'x' * before}{SECRET}{SECRET} end {SECRET[:7]}\n".encode()
    pieces, at = [], 0
    for cut in cuts:
        pieces.append(data[at : at + cut])
        at += cut
    assert lines(*pieces, data[at:], secrets=(SECRET,)) == [f"{'x' * before}{MASK}{MASK} end {SECRET[:7]}"]


def test_it_masks_each_line_of_a_secret_of_several_lines() -> None:
    key = "-----BEGIN KEY-----\nabcdefgh\nijklmnop\n-----END KEY-----"
    found = lines(b"show: ijklmnop\n", key.encode() + b"\n", secrets=(key,))
    assert found == [f"show: {MASK}", MASK]


def test_a_secret_is_masked_across_a_forced_break() -> None:
    data = b"x" * (LONGEST_LINE - 5) + SECRET.encode() + b"y" * 10
    assert SECRET[:6] not in "".join(lines(data[:LONGEST_LINE], data[LONGEST_LINE:], secrets=(SECRET,)))


class Chunks:
    def __init__(self, hold: asyncio.Event | None = None) -> None:
        self.stored: list[str] = []
        self.hold = hold

    async def store(self, text: str) -> None:
        if self.hold:
            await self.hold.wait()
        self.stored.append(text)


async def test_a_log_is_stored_while_the_work_runs() -> None:
    chunks = Chunks()
    running = JobLog(chunks.store)
    await running.write("out", b"first\n")
    await eventually(lambda: chunks.stored)
    assert chunks.stored[0].endswith("\tfirst\n")
    await running.write("err", b"second")
    await running.end()
    assert [text.partition("\t")[2] for text in chunks.stored] == ["first\n", "second\n"]


async def test_each_line_carries_the_seconds_since_the_start() -> None:
    chunks, now = Chunks(), [100.0]
    running = JobLog(chunks.store, clock=lambda: now[0])
    now[0] = 101.25
    await running.write("out", b"line\twith tab\n")
    await running.end()
    assert chunks.stored == ["1.250\tline\twith tab\n"]


async def test_chunks_hold_whole_lines_and_stay_small() -> None:
    chunks = Chunks()
    running = JobLog(chunks.store)
    for _ in range(50):
        await running.write("out", b"".join(b"%04d " % n + b"z" * 95 + b"\n" for n in range(100)))
    await running.end()
    assert sum(text.count("\n") for text in chunks.stored) == 5000
    assert all(text.endswith("\n") and len(text) < 2 * job_log.CHUNK_BYTES for text in chunks.stored)


async def test_a_log_that_grows_too_large_is_cut_and_says_so() -> None:
    chunks = Chunks()
    running = JobLog(chunks.store, limit=1000)
    for _ in range(100):
        await running.write("out", b"x" * 99 + b"\n")
    await running.end()
    text = "".join(chunks.stored)
    assert len(text) < 2000
    assert "The log was cut here:" in text.splitlines()[-1]


async def test_work_that_writes_faster_than_the_log_is_stored_waits() -> None:
    gate = asyncio.Event()
    chunks = Chunks(gate)
    running = JobLog(chunks.store)

    async def flood() -> None:
        for _ in range(40):
            await running.write("out", b"y" * 99_999 + b"\n")

    task = asyncio.create_task(flood())
    await let_others_run()
    assert not task.done()
    gate.set()
    await asyncio.wait_for(task, LONG)
    await running.end()
    assert sum(map(len, chunks.stored)) > 3_900_000


async def test_what_keeps_a_log_from_being_stored_is_not_silent() -> None:
    async def broken(text: str) -> None:
        raise ConnectionError("no database")

    running = JobLog(broken)
    with pytest.raises(ConnectionError):
        async with asyncio.timeout(LONG):
            while True:
                await running.write("out", b"z" * 50_000 + b"\n")
                await let_others_run()


FENCED = '```json\n{"plan": "Count attempts."}\n```'


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (f"Planned.\n\n{FENCED}", "Planned."),
        (f"First.\n\n{FENCED}\n\n\nThen.", "First.\n\nThen."),
        (FENCED, "Count attempts."),
        ('{"plan": "Count attempts."}', "Count attempts."),
        ('An example:\n```json\n{"a": 1}\n```', 'An example:\n```json\n{"a": 1}\n```'),
    ],
)
def test_a_summary_does_not_repeat_the_output(said: str, kept: str) -> None:
    assert besides_output_or_empty(said, ["plan"], {"plan": "Count attempts."}) == kept
    assert besides_output_or_empty(said, [], {"plan": "Count attempts."}) == said


@pytest.mark.parametrize("user", ["u", "me", "bot", "some-user"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_it_masks_a_secret_inside_base64(user: str, encode: Callable[[bytes], bytes]) -> None:
    """A header of Basic sign-in: what is left of it tells at most the bits at both ends of the secret."""
    header = encode(f"{user}:{SECRET}:end".encode()).decode()
    (line,) = lines(f"Authorization: Basic {header}\n".encode(), secrets=(SECRET,))
    assert MASK in line
    visible = line.removeprefix("Authorization: Basic ").replace(MASK, "")
    assert len(visible) <= len(header) - len(SECRET) * 4 // 3 + 4


@pytest.mark.parametrize("spelled", [SECRET.encode().hex(), SECRET.encode().hex().upper()])
def test_it_masks_a_secret_in_hexadecimal(spelled: str) -> None:
    assert lines(f"dump {spelled}00\n".encode(), secrets=(SECRET,)) == [f"dump {MASK}00"]


@pytest.mark.parametrize("escape", ["\x1b[1m", "\x1b[38;5;12m", "\x1b]8;;x\x07", "\x1b]0;t\x1b\\", "\x1b[0K"])
def test_it_masks_a_secret_that_escape_sequences_cut(escape: str) -> None:
    cut = f"{escape}a {SECRET[:4]}{escape}{SECRET[4:9]}{escape}{SECRET[9:]}{escape} b {escape}"
    (line,) = lines(cut.encode(), secrets=(SECRET,))
    assert line == f"a {MASK} b"
    assert Masker((SECRET,)).masked_text(cut) == f"{escape}a {MASK}{escape} b {escape}"


@pytest.mark.parametrize("sequence", ["\x1b[16384@", "\x1b[1K", "\x1b[16384@\x1b[16384P", "\x1b[16000X"])
def test_a_line_of_nothing_but_sequences_is_read_in_time(sequence: str) -> None:
    """A program that writes it does not hold up what else its worker does, nor fill its memory."""
    began = process_time()
    cutter = LineCutter(Masker())
    line = "x" * 16000 + "\r" + sequence * (16 * 1024 // len(sequence)) + "\n"
    assert len("".join(cutter.feed_and_return_whole_lines(line.encode()))) <= 2 * LONGEST_LINE
    assert process_time() - began < 2


def test_secrets_are_looked_for_among_many_colours_in_time() -> None:
    began = process_time()
    found = lines((b"\x1b[31mx\x1b[0m" * 7000 + SECRET.encode() + b"\n") * 2, secrets=(SECRET,))
    assert SECRET not in "".join(found) and "".join(found).count(MASK) == 2
    assert process_time() - began < 2
