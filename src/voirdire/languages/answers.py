"""The code of answers under one reading: what is cut again, and how much hangs on the choice."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from voirdire.languages.fences import Extraction, Reading, extract
from voirdire.languages.gate import gate_all
from voirdire.languages.language import language_named
from voirdire.languages.parsing import Parsers
from voirdire.model import CodeSample


def read_again(samples: Sequence[CodeSample], reading: Reading, parsers: Parsers) -> tuple[CodeSample, ...]:
    """Return the samples with their code taken from their answer under a reading, in the same order.

    Programs that the file gives as such stay. Under ANY, the last block that parses is the code, or the last block.
    """
    codes: dict[int, str] = {}
    places = [place for place, sample in enumerate(samples) if sample.reading]
    if reading is Reading.ANY:
        for language in dict.fromkeys(samples[place].language for place in places):
            chosen = [place for place in places if samples[place].language == language]
            admitted = gate_all(
                [samples[place].text for place in chosen], language, reading=reading, parsers=parsers
            )
            codes.update(zip(chosen, (one.code for one in admitted), strict=True))
    else:
        codes = {place: _found(samples[place]).code(reading) for place in places}
    return tuple(
        replace(sample, code=codes[place], reading=_found(sample).taken(reading).value)
        if place in codes
        else sample
        for place, sample in enumerate(samples)
    )


def notes_on_readings(samples: Iterable[CodeSample], reading: Reading) -> tuple[str, ...]:
    """Return what an account says of answers: how many are their own code, and what another reading would change."""
    answers = [(sample, _found(sample)) for sample in samples if sample.reading]
    whole = sum(not found.blocks for _, found in answers)
    notes = []
    if whole:
        notes.append(f"{_counted(whole)} no fenced block: the whole answer is taken for the code")
    if reading is Reading.LAST:
        others = sum(
            found.code(Reading.LAST_TAGGED) not in ("", found.code(Reading.LAST)) for _, found in answers
        )
        if others:
            notes.append(f"{_counted(others)} a later block in another language: --reading last-tagged")
    return tuple(notes)


def _found(sample: CodeSample) -> Extraction:
    return extract(sample.text, tags=language_named(sample.language).tags)


def _counted(count: int) -> str:
    return f"{count:,} {'sample has' if count == 1 else 'samples have'}"
