"""Coding agents: what they are called with, and what their streams say. Their presets are data, in
`pipelines/routing/document/agents`."""
