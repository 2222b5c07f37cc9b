"""The changes of a task: which files, which lines, what a reader has seen of them."""
