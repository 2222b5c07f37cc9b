"""The read side (house §1): what windows show, as plain dataclasses. Nothing here writes or asks who may see."""
