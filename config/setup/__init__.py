"""Steps of `make` before Django can run, with the standard library only.

steps      a step of the set-up: skipped when its inputs have not changed, shown while it runs
machine    what this machine must have: platform, port
packages   the Python environment
front_end  Node, npm and the build
main       the targets of the Makefile
quality    `make check`
"""
