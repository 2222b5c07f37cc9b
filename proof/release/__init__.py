"""What people install: the wheels of server and command line, and a run of both in empty environments."""
