"""`python -m pipelines.runner.doctor [github|gitlab --repository owner/name] [--json]`."""

import sys

from pipelines.runner.doctor.main import main

sys.exit(main(sys.argv[1:]))
