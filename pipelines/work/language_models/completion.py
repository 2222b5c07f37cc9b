"""Asks a model, streaming its answer, and names in one word why there is none. Servers may implement the protocol
incompletely, so everything they send is checked first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.work.language_models.conversation import Message, ToolCall
from pipelines.work.outgoing.endpoint import Outgoing
from pipelines.work.outgoing.guard import RefusedAddress
from pipelines.work.outgoing.model_client import model_client

if TYPE_CHECKING:
    import openai

# Of one answer: a server that never stops must not fill the memory of a worker
MOST_CHARACTERS = 10_000_000
Hear = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class CompletionRequest:
    messages: Sequence[Message]
    model: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    stream: bool = True

    def body(self, model: str) -> dict[str, Any]:
        payload: dict[str, Any] = {"model": self.model or model, "messages": list(self.messages)}
        if self.temperature is not None:
            payload["temperature"] = self.temperature
        if self.max_tokens is not None:
            payload["max_tokens"] = self.max_tokens
        if self.tools:
            payload["tools"] = list(self.tools)
        return payload


@dataclass
class Reply:
    """`finish` as the protocol has it: stop, tool_calls, length, … `refusal`: the words of a model that refused.
    `unreadable`: what of the answer is in a form that is not read."""

    text: str = ""
    refusal: str = ""
    unreadable: str = ""
    finish: str = ""
    model: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def usage(self) -> dict[str, Any]:
        counts = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out}
        return {key: value for key, value in counts.items() if value is not None}


class NoAnswer(Exception):
    """`failure_type`: model_not_set, model_unreachable, model_timeout, model_rate_limited, model_denied,
    model_refused, model_error, model_cut_off, model_bad_answer."""

    def __init__(self, failure_type: str, message: str) -> None:
        self.failure_type = failure_type
        super().__init__(message[:2000])


async def ask_model(question: CompletionRequest, outgoing: Outgoing, hear: Hear) -> Reply:
    """`hear` gets the text as it comes. :raises NoAnswer: what went wrong, after the retries of the settings"""
    if not outgoing.endpoint.url:
        raise NoAnswer("model_not_set", "No model is set: an operator sets GATELINE_MODEL_URL.")
    if not (question.model or outgoing.endpoint.model):
        raise NoAnswer("model_not_set", "No model is named: here, or by an operator in GATELINE_MODEL.")
    import openai  # noqa: PLC0415 - most of a worker's start, and for models alone

    try:
        async with model_client(outgoing) as client:
            return await _ask_once(client, question, question.body(outgoing.endpoint.model), hear)
    # Before the connection error, which is its base class
    except openai.APITimeoutError as error:
        raise NoAnswer("model_timeout", "The model did not answer in time.") from error
    except openai.APIConnectionError as error:
        raise _error_of_unreached_model(error.__cause__ or error) from error
    except openai.APIStatusError as error:
        raise NoAnswer(
            _failure_type(error.status_code), f"The model's server said {error.status_code}: {error.message}"
        ) from error
    except openai.APIError as error:
        raise NoAnswer("model_error", f"The model's server said: {error.message}") from error
    # RecursionError: JSON that is nested too deep to be read
    except (openai.OpenAIError, ValueError, RecursionError) as error:
        raise NoAnswer("model_bad_answer", f"The answer is not what the protocol says: {error}") from error


def _error_of_unreached_model(error: BaseException) -> NoAnswer:
    if isinstance(error, RefusedAddress):
        return NoAnswer("model_unreachable", str(error))
    return NoAnswer(
        "model_unreachable", f"The model's server cannot be reached: {error or type(error).__name__}"
    )


def _failure_type(code: int) -> str:
    known = {401: "model_denied", 403: "model_denied", 408: "model_timeout", 429: "model_rate_limited"}
    return known.get(code, "model_error" if code >= 500 else "model_refused")


async def _ask_once(
    client: openai.AsyncOpenAI, question: CompletionRequest, body: dict[str, Any], hear: Hear
) -> Reply:
    if not question.stream:
        completion = await client.chat.completions.create(**body)
        reply = _parsed_reply(_plain_json(completion))
        await hear(reply.text)
        return reply
    import openai  # noqa: PLC0415

    streamed = StreamedAnswer()
    async with await client.chat.completions.create(
        # Without `include_usage` a stream does not tell its tokens
        **body,
        stream=True,
        stream_options={"include_usage": True},
    ) as chunks:
        try:
            async for chunk in chunks:
                await hear(streamed.add_chunk_and_return_text(_plain_json(chunk)))
        except openai.APITimeoutError as error:
            raise NoAnswer("model_timeout", "The model fell silent in the middle of its answer.") from error
        except openai.APIConnectionError as error:
            why = error.__cause__ or error
            raise NoAnswer("model_cut_off", f"The answer broke off: {why or type(why).__name__}") from error
    return streamed.reply()


def _plain_json(value: Any) -> dict[str, Any]:
    """Convert the library's answer to plain JSON. :raises ValueError: it is no object"""
    import openai  # noqa: PLC0415

    if isinstance(value, openai.BaseModel):
        value = value.to_dict(mode="json", warnings=False)
    if not isinstance(value, dict):
        raise ValueError("an answer is an object")
    return value


def _first_choice(answer: dict[str, Any]) -> dict[str, Any]:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    if not isinstance(first, dict):
        raise ValueError("a choice is an object")
    return first


def _object_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count_or_none(value: Any) -> int | None:
    # By type: for isinstance true and false are numbers, too
    return value if type(value) is int and value >= 0 else None


def _record_usage(reply: Reply, answer: dict[str, Any]) -> None:
    usage = _object_or_empty(answer.get("usage"))
    reply.model = _text_or_empty(answer.get("model")) or reply.model
    reply.tokens_in = _count_or_none(usage.get("prompt_tokens")) or reply.tokens_in
    reply.tokens_out = _count_or_none(usage.get("completion_tokens")) or reply.tokens_out


def _parsed_reply(answer: dict[str, Any]) -> Reply:
    first = _first_choice(answer)
    message = first.get("message")
    if not isinstance(message, dict):
        raise ValueError("it holds no message")
    reply = Reply(_text_or_empty(message.get("content")), finish=_text_or_empty(first.get("finish_reason")))
    reply.refusal, reply.unreadable = (
        _text_or_empty(message.get("refusal")),
        _unsupported_form_message_or_empty(message),
    )
    _record_usage(reply, answer)
    calls = message.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        function = _object_or_empty(_object_or_empty(call).get("function"))
        tool_call = ToolCall(
            _text_or_empty(_object_or_empty(call).get("id")) or f"call_{index}",
            _text_or_empty(function.get("name")),
            _text_or_empty(function.get("arguments")),
        )
        reply.calls.append(tool_call)
    return reply


def _unsupported_form_message_or_empty(message: dict[str, Any]) -> str:
    """Return which part of a message, or of a piece of one, has a form that is not read; "" if none has."""
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        return "the content of the answer is no text"
    return "the answer calls a function in the form function_call" if message.get("function_call") else ""


class StreamedAnswer:
    """An answer that comes in pieces."""

    def __init__(self) -> None:
        self._reply = Reply()
        self._parts: list[str] = []
        self._size = 0
        self._calls: dict[int, dict[str, str]] = {}

    def add_chunk_and_return_text(self, chunk: dict[str, Any]) -> str:
        """The text that a piece brings."""
        _record_usage(self._reply, chunk)
        first = _first_choice(chunk)
        self._reply.finish = _text_or_empty(first.get("finish_reason")) or self._reply.finish
        delta = _object_or_empty(first.get("delta"))
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            self._add_to_tool_call(_object_or_empty(call))
        refusal = _text_or_empty(delta.get("refusal"))
        self._reply.refusal += refusal
        self._reply.unreadable = self._reply.unreadable or _unsupported_form_message_or_empty(delta)
        text = _text_or_empty(delta.get("content"))
        self._refuse_beyond_limit(text + refusal)
        self._parts.append(text)
        return text

    def _add_to_tool_call(self, piece: dict[str, Any]) -> None:
        index = piece.get("index")
        # A piece without an index counts as a call of its own
        known = self._calls.setdefault(index if type(index) is int else len(self._calls), {})
        function = _object_or_empty(piece.get("function"))
        for key, value in (("id", piece.get("id")), ("name", function.get("name"))):
            if _text_or_empty(value):
                known[key] = _text_or_empty(value)
        arguments = _text_or_empty(function.get("arguments"))
        self._refuse_beyond_limit(arguments)
        known["arguments"] = known.get("arguments", "") + arguments

    def _refuse_beyond_limit(self, text: str) -> None:
        self._size += len(text)
        if self._size > MOST_CHARACTERS:
            raise ValueError(f"it is longer than {MOST_CHARACTERS} characters")

    def reply(self) -> Reply:
        """:raises NoAnswer: it ended without saying why"""
        # A stream may end without an error and still be cut off
        if not self._reply.finish:
            raise NoAnswer("model_cut_off", "The answer broke off before the model said that it had ended.")
        self._reply.text = "".join(self._parts)
        self._reply.calls = [
            ToolCall(call.get("id") or f"call_{index}", call.get("name", ""), call.get("arguments", ""))
            for index, call in sorted(self._calls.items())
        ]
        return self._reply
