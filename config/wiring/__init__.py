"""Checks that what one part of the product names is there in another."""
