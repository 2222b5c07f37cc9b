"""The working side: tokens are taken through the stations that this worker may run (house §2)."""
