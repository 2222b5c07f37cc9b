"""`gateline runner`: the worker of this project on another machine. It reaches its server over HTTP with a token and
needs neither a database nor Django (docs/runners.md)."""
