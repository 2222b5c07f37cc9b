"""Somebody with a fresh clone, a TypeScript repository and the README: minutes to the first merged change."""
