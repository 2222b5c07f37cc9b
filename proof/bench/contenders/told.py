"""What a contender tells the measurement: one line of JSON, the last one it writes."""

from __future__ import annotations

import json


def tell(moves: int, seconds: float, cpu: float) -> None:
    print(json.dumps({"moves": moves, "seconds": seconds, "cpu": cpu}), flush=True)
