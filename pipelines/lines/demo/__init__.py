"""The demo: three lines that do real work, and the programs that some of their stations run."""
