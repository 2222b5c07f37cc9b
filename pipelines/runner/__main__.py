"""`python -m pipelines.runner --server https://gateline.example.com`."""

import sys

from pipelines.runner.main import main

sys.exit(main(sys.argv[1:]))
