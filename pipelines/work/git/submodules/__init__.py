"""Submodules: repositories at a pinned commit, in a folder of another one."""
