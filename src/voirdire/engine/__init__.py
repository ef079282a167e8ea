"""The engine: plan, ask, remember, conclude, and check itself on planted judges."""
