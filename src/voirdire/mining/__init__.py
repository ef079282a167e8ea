"""Tasks from a git history, and coding harnesses run on them. A repository is hostile: nothing in it is obeyed."""
