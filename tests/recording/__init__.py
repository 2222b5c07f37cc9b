"""What the product answers in a world that is the same each time, written to a folder, so that two commits compare:

    python -m tests.recording /tmp/old; git switch …; python -m tests.recording /tmp/new; diff -r /tmp/old /tmp/new

A renaming changes no byte of it. Written are pages and fragments, operations of the API, commands, and mails.
"""
