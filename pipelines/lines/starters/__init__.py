"""Lines to begin with: whole documents, each with what it is for, what it needs and a run through it."""
