"""Places that keep the bytes of artifacts, snapshots and uploads: one port (`store`), one file for each kind, one
table."""
