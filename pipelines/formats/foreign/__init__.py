"""Documents of other systems, each system a package; `systems` is the table of them."""
