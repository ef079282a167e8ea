"""Finding code in an answer and parsing it, one file per language; runs nothing, asks nobody."""
