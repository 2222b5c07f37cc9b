"""Claude Code."""

from __future__ import annotations

from pipelines.routing.document.agents.preset import (
    GOOGLE_KEY,
    AgentSignIn,
    OutputSchemaOption,
    Preset,
    ToolServerOptions,
)

_UNATTENDED = ("--permission-mode", "acceptEdits", "--permission-prompts", "none")
_FLAGS = (
    *("--output-format", "stream-json", "--verbose"),
    *_UNATTENDED,
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
    deny_command=("--disallowedTools", "Bash({command}:*)"),
    deny_tool=("--disallowedTools", "{tool}"),
    unattended=_UNATTENDED,
    asking=("--permission-mode", "default", "--permission-prompt-tool", "mcp__gateline__permission"),
    tools=ToolServerOptions(
        argv=("--mcp-config", "{servers}", "--allowedTools", "mcp__gateline"), entry=(("alwaysLoad", True),)
    ),
    output_schema=OutputSchemaOption(argv=("--json-schema", "{schema}")),
    dialect="claude",
    final_event="result",
    priced=True,
    settings=(("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")),
    environment=(
        *("ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL"),
        *("CLAUDE_CODE_USE_BEDROCK", "AWS_REGION"),
        *(
            "CLAUDE_CODE_USE_VERTEX",
            "CLOUD_ML_REGION",
            "ANTHROPIC_VERTEX_PROJECT_ID",
            "ANTHROPIC_VERTEX_BASE_URL",
        ),
        "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    ),
    elsewhere=(
        ("CLAUDE_CODE_USE_BEDROCK", "bedrock-runtime.{AWS_REGION}.amazonaws.com"),
        ("CLAUDE_CODE_USE_VERTEX", "{CLOUD_ML_REGION}-aiplatform.googleapis.com"),
        ("CLAUDE_CODE_USE_VERTEX", "aiplatform.googleapis.com"),
        ("CLAUDE_CODE_USE_VERTEX", "oauth2.googleapis.com"),
    ),
    addresses=("ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"),
    secrets=(
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
        *("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
        GOOGLE_KEY[0],
    ),
    secret_files=(GOOGLE_KEY,),
    sign_in=AgentSignIn(
        folder=".claude",
        files=(".credentials.json",),
        variable="CLAUDE_CONFIG_DIR",
        hosts=("platform.claude.com", "console.anthropic.com"),
    ),
    hosts=("api.anthropic.com",),
    versions=("2.1.330",),
)
