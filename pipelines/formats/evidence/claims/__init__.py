"""Claims of an agent about what it did, beside what was observed."""
