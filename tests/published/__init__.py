"""Descriptions that others publish of the services with which Gateline speaks: a second opinion on our clients, and on
the servers and webhooks of the tests."""
