"""The guided first run of a project: a repository, an agent, a line from a template, a first task."""
