"""`python -m pipelines.work.program --server https://gateline.example.com`."""

import sys

from pipelines.ports.garbage_collection import collect_seldom_while_loading
from pipelines.work.program.main import main

collect_seldom_while_loading()
sys.exit(main(sys.argv[1:]))
