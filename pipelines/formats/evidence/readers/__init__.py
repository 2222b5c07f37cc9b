"""What tools report, read from their files: one reader for each kind."""
