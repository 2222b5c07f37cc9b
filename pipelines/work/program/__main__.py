"""`python -m pipelines.work.program --server https://gateline.example.com`."""

import sys

from pipelines.ports.garbage_collection import reduce_collection
from pipelines.work.program.main import main

reduce_collection()
sys.exit(main(sys.argv[1:]))
