"""Runs candidate code: tasks with tests, samples, limits and isolation in; ground truth out."""
