"""A PostgreSQL of our own, for a machine that has none: the standard library only, so that its keeper starts at once.

binaries   where a PostgreSQL is found
account    as which user of the system it runs
placing    where data and binaries go when its user cannot reach the project
layout     which file lies where in the state folder
processes  whether a pid is ours and alive
server     initialise, start, stop
hold       a process's share in the running server: the last one out stops it
keeper     the process that restarts a killed server, and stops one whose users were all killed
"""
