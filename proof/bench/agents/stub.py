"""A model on the loopback that follows a script: it asks once for a shell command, and then says that it is done. It
speaks what four programs speak: Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SAYS = "I made made.txt."
SHELLS = {"exec_command": "cmd", "shell_command": "command", "bash": "command", "Bash": "command"}
SHELLS |= {"run_shell_command": "command"}
MOST_CALLS = 6
TOOL_NAME = re.compile(r'"name": "([\w.-]+)"')


class Model(ThreadingHTTPServer):
    """`command`: what it asks for; "" for none. `tools`: those of a server of the Model Context Protocol that it calls
    in place of it, one after the other, with their arguments."""

    daemon_threads = True

    def __init__(self, port: int, command: str, tools: Sequence[tuple[str, dict[str, Any]]] = ()) -> None:
        super().__init__(("127.0.0.1", port), Answer)
        self.command, self.asked, self.tools = command, 0, [*tools]


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_request(self, *args: Any) -> None:
        return

    def do_GET(self) -> None:
        self._whole({"object": "list", "data": [{"id": "stub-model", "object": "model"}]})

    def do_HEAD(self) -> None:
        self._whole({})

    def do_POST(self) -> None:
        asked = self._asked()
        path = self.path.partition("?")[0]
        for end, answer in (
            ("/messages", self._messages),
            ("/responses", self._responses),
            ("/chat/completions", self._chat),
        ):
            if path.endswith(end):
                answer(asked)
                return
        if "enerateContent" in path:
            self._gemini(asked, "stream" in path)
        elif path.endswith("count_tokens"):
            self._whole({"input_tokens": 7})
        else:
            self._whole({"error": {"message": "unknown"}}, 404)

    # The four protocols

    def _messages(self, asked: dict[str, Any]) -> None:
        tool, spent = self._tool(asked), {"input_tokens": 50, "output_tokens": 5}
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": SAYS}
        if tool:
            block = {"type": "tool_use", "id": "toolu_stub", "name": tool[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(tool[1])}
        message = {
            "id": "msg_stub",
            "type": "message",
            "role": "assistant",
            "model": asked.get("model", "stub"),
        }
        message |= {"stop_sequence": None, "usage": spent}
        reason = "tool_use" if tool else "end_turn"
        if not asked.get("stream"):
            content = [{"type": "text", "text": SAYS}]
            self._whole({**message, "content": content, "stop_reason": "end_turn"})
            return
        parts: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ]
        self._stream((part["type"], part) for part in parts)

    def _responses(self, asked: dict[str, Any]) -> None:
        tool = self._tool(asked)
        text = {"type": "output_text", "text": SAYS, "annotations": []}
        item: dict[str, Any] = {"type": "message", "id": "msg_stub", "role": "assistant", "content": [text]}
        if tool:
            item = {"type": "function_call", "id": "fc_stub", "call_id": "call_stub", "name": tool[0]}
            item["arguments"] = json.dumps(tool[1])
            item |= namespace_of(tool[0], asked.get("tools") or [])
        usage = {"input_tokens": 60, "output_tokens": 6, "total_tokens": 66}
        usage |= {
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        done = {"id": "resp_stub", "status": "completed", "usage": usage, "output": [item]}
        parts: list[dict[str, Any]] = [
            {"type": "response.created", "response": {"id": "resp_stub"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
        self._stream((part["type"], part) for part in parts)

    def _chat(self, asked: dict[str, Any]) -> None:
        tool = self._tool(asked)
        delta: dict[str, Any] = {"role": "assistant", "content": SAYS}
        if tool:
            call = {"name": tool[0], "arguments": json.dumps(tool[1])}
            delta = {
                "role": "assistant",
                "tool_calls": [{"index": 0, "id": "call_stub", "type": "function", "function": call}],
            }
        usage = {"prompt_tokens": 40, "completion_tokens": 4, "total_tokens": 44}
        head = {"id": "chat_stub", "object": "chat.completion.chunk", "created": 1, "model": "stub-model"}
        reason = "tool_calls" if tool else "stop"
        if not asked.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": SAYS}, "finish_reason": "stop"}
            self._whole({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        first = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
        self._stream((("", first), ("", last), ("", "[DONE]")))

    def _gemini(self, asked: dict[str, Any], streamed: bool) -> None:
        tool = self._tool(asked)
        part: dict[str, Any] = {"text": SAYS}
        if tool:
            part = {"functionCall": {"name": tool[0], "args": tool[1]}}
        elif "responseJsonSchema" in json.dumps(asked) or "responseSchema" in json.dumps(asked):
            wanted = {"reasoning": "stub", "model_choice": "flash", "complexity_score": 1}
            part = {"text": json.dumps({**wanted, "complexity_reasoning": "stub"})}
        spent = {"promptTokenCount": 30, "candidatesTokenCount": 3, "totalTokenCount": 33}
        content = {"role": "model", "parts": [part]}
        whole = {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": spent,
        }
        if streamed:
            self._stream((("", whole),))
        else:
            self._whole(whole)

    # Beside them

    def _tool(self, asked: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """The call of a shell that it asks for: once after each message, if there is one among the tools."""
        if self.server.tools:
            return self._next_tool(asked)
        said = next((asked[name] for name in ("messages", "input", "contents") if asked.get(name)), [])
        last = json.dumps(said[-1] if isinstance(said, list) else said)
        answered = ('"tool_result"', '"function_call_output"', '"role": "tool"', '"functionResponse"')
        if (
            not self.server.command
            or any(each in last for each in answered)
            or self.server.asked >= MOST_CALLS
        ):
            return None
        offered = json.dumps(asked.get("tools") or [])
        name = next((each for each in SHELLS if f'"{each}"' in offered), None)
        if name is None:
            return None
        self.server.asked += 1
        return name, {SHELLS[name]: self.server.command, "description": "as asked"}

    def _next_tool(self, asked: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """The next of its tools, by the name under which the program offers it."""
        wanted, arguments = self.server.tools[0]
        offered = json.dumps(asked.get("tools") or [])
        name = next((name for name in TOOL_NAME.findall(offered) if name.endswith(wanted)), None)
        if name is None:
            return None
        self.server.tools.pop(0)
        return name, arguments

    def _asked(self) -> dict[str, Any]:
        if self.headers.get("transfer-encoding") == "chunked":
            data = b"".join(self._chunks())
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            found = json.loads(data)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().strip() or b"0", 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _whole(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, parts: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, part in parts:
            event = f"event: {name}\n" if name else ""
            data = part if isinstance(part, str) else json.dumps(part)
            self.wfile.write(f"{event}data: {data}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True


def namespace_of(name: str, offered: list[dict[str, Any]]) -> dict[str, str]:
    """The namespace in which Codex offers the tools of a server: a call has to name it."""
    groups = (group for group in offered if group.get("type") == "namespace")
    return next(
        (
            {"namespace": group["name"]}
            for group in groups
            if any(tool.get("name") == name for tool in group.get("tools", ()))
        ),
        {},
    )
