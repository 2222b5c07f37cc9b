"""Gemini CLI."""

from __future__ import annotations

from pipelines.routing.document.agents.preset import GOOGLE_KEY, AgentSignIn, Preset, ToolServerOptions

PRESET = Preset(
    key="gemini",
    name="Gemini CLI",
    argv=("gemini", "-o", "stream-json", "--skip-trust"),
    resume=("gemini", "-o", "stream-json", "--skip-trust", "--resume", "{session}"),
    model=("-m", "{model}"),
    allow_all=("--approval-mode", "yolo"),
    allow_some=("--approval-mode", "auto_edit"),
    allow_command=("--allowed-tools", "run_shell_command({command})"),
    allow_tool=("--allowed-tools", "{tool}"),
    tools=ToolServerOptions(variable="GEMINI_CLI_SYSTEM_SETTINGS_PATH", entry=(("trust", True),)),
    dialect="gemini",
    final_event="result",
    environment=(
        *("GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI"),
        *("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
    ),
    elsewhere=(
        ("GOOGLE_GENAI_USE_VERTEXAI", "{GOOGLE_CLOUD_LOCATION}-aiplatform.googleapis.com"),
        ("GOOGLE_GENAI_USE_VERTEXAI", "aiplatform.googleapis.com"),
        ("GOOGLE_GENAI_USE_VERTEXAI", "oauth2.googleapis.com"),
    ),
    addresses=("GOOGLE_GEMINI_BASE_URL",),
    secrets=("GEMINI_API_KEY", "GOOGLE_API_KEY", GOOGLE_KEY[0]),
    secret_files=(GOOGLE_KEY,),
    sign_in=AgentSignIn(
        folder=".gemini",
        files=("oauth_creds.json", "google_accounts.json"),
        hosts=("cloudcode-pa.googleapis.com", "oauth2.googleapis.com"),
        settings=(("GOOGLE_GENAI_USE_GCA", "true"),),
    ),
    hosts=("generativelanguage.googleapis.com",),
    versions=("0.61.0",),
)
