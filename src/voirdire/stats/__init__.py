"""Statistics: arrays in, an Estimate out. Only numpy and scipy; nothing here reads, asks or prints."""
