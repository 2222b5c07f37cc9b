"""Documents of other systems, each system a package; `known_systems` is the table of them."""
