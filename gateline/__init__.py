"""The command line of Gateline. It knows the server by its HTTP API alone.

main       the program: its commands, and what every one of them takes
commands   one file each
profiles   servers and tokens of the person at this machine
client     requests, and what their refusals mean
places     owner/project/line and WI-… as people type them
output     what is printed: for people, or as JSON
failures   what ends a command early, each with its exit code
"""

__version__ = "0.1.0"
