"""`gateline doctor`: what this machine, or an account at a host, offers to Gateline."""
