"""`python -m pipelines.work.program --server https://gateline.example.com`."""

import sys

from pipelines.work.program.main import main

sys.exit(main(sys.argv[1:]))
