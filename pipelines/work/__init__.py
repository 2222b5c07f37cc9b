"""The working side: a worker takes tokens through the stations it may run (house §2)."""
