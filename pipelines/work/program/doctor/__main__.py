"""`python -m pipelines.work.program.doctor [github|gitlab --repository owner/name] [--json]`."""

import sys

from pipelines.work.program.doctor.main import main

sys.exit(main(sys.argv[1:]))
