"""The station programs of the demo. They know nothing of Gateline or Django: only the standard library,
dulwich, and the tools that they start. A program talks to the line by its exit code and by the JSON document that it
writes to GATELINE_RESULT (law §2)."""
