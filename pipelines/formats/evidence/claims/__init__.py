"""What an agent says it did, beside what was observed."""
