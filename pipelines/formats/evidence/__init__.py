"""Evidence that people see before they decide, computed from values: differences of trees, reports of tools,
claims. Pure."""
