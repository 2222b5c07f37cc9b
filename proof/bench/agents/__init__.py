"""Real coding agents from npm, in a namespace without network, against a scripted model: what Gateline derives."""
