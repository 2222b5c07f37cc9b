"""The folder below which stations work: where it lies, and how it moves there. Standard library only:
`make clean` asks, too, and has no environment."""
