"""Pages of triggers: those of a line, the form of one, its log, and those of a project."""
