"""What lies in `fixtures` is data, also where a file is named like a test."""

collect_ignore = ["fixtures"]
