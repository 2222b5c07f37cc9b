"""An app of the tests alone. Its `flush` takes the place of Django's, which empties the database after each test that
commits."""
