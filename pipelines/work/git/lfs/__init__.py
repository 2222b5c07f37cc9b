"""Git LFS: files that a tree names by a pointer, and whose content lies beside the repository."""
