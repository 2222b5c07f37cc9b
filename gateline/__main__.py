"""`python -m gateline`."""

from gateline.main import main

main()
