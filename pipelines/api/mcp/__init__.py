"""The Model Context Protocol for agents of people, below /api/mcp: each tool is an operation of the API, asked with the
token of whoever calls."""
