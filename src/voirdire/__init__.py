"""voirdire examines an LLM judge before anyone trusts its verdict."""
