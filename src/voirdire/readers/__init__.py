"""Raw answer text to values or reasons, one file per shape of answer.

Each file has `read(raw, questions, options) -> {question id: Reading}` with a Reading for every question. A
reader accepts the whole answer or none of it: no nearest number, no repair, no default; out of range is missing.
"""
