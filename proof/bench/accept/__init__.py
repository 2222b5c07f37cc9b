"""What a stranger meets who has the README and nothing else: `make accept`. Nothing of the product is imported here."""
