"""Claude Code."""

from __future__ import annotations

from pipelines.routing.document.agents.preset import AgentSignIn, Preset

_FLAGS = (
    *("--output-format", "stream-json", "--verbose"),
    *("--permission-mode", "acceptEdits", "--permission-prompts", "none"),
    *("--strict-mcp-config", "--setting-sources", "project"),
)

PRESET = Preset(
    key="claude",
    name="Claude Code",
    argv=("claude", "-p", *_FLAGS),
    resume=("claude", "-p", *_FLAGS, "--resume", "{session}"),
    model=("--model", "{model}"),
    cap=("--max-budget-usd", "{cost}"),
    allow_all=("--allowedTools", "Bash"),
    allow_command=("--allowedTools", "Bash({command}:*)"),
    allow_tool=("--allowedTools", "{tool}"),
    dialect="claude",
    final_event="result",
    priced=True,
    settings=(("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")),
    environment=(
        *("ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL"),
        *("CLAUDE_CODE_USE_BEDROCK", "AWS_REGION"),
    ),
    elsewhere=(("CLAUDE_CODE_USE_BEDROCK", "bedrock-runtime.{AWS_REGION}.amazonaws.com"),),
    addresses=("ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL"),
    secrets=(
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        *("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    ),
    sign_in=AgentSignIn(
        folder=".claude",
        files=(".credentials.json",),
        variable="CLAUDE_CONFIG_DIR",
        hosts=("platform.claude.com", "console.anthropic.com"),
    ),
    hosts=("api.anthropic.com",),
    versions=("2.1.330",),
)
