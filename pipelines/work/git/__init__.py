"""Git without git: repositories of others are read, filled into work trees, committed to and pushed to by our own code.
Nothing here starts a hook, a filter or a helper, and nothing here reads the `.git` of an attempt (law §15)."""
