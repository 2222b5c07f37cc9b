"""`python -m pipelines.work.program --server https://gateline.example.com`."""

import sys

from pipelines.ports.collector import collect_little
from pipelines.work.program.main import main

collect_little()
sys.exit(main(sys.argv[1:]))
