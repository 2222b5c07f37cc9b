"""The station programs of the demo. They import nothing of Gateline and nothing but the standard library: they run by
their path, in places where no folder above their own may be listed. A program talks to the line by its exit code and by
the JSON document that it writes to GATELINE_RESULT (law §2)."""
