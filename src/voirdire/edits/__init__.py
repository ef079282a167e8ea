"""Pure changes of one part of an item."""
