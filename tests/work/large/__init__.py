"""Large files and submodules, with real servers on loopback."""
