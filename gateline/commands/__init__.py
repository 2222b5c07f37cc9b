"""The commands, one file each. `gateline/main.py` lists them."""
