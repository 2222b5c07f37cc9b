"""Home, and the first task that it offers on a new installation."""
