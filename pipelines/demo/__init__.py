"""The demo: two lines that do real work, and the station programs that do it."""
