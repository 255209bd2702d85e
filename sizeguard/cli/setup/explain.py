"""The command `sizeguard explain`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli import candidates
from sizeguard.cli.lazy_group import WIDTH
from sizeguard.cli.option_groups import OUTPUT_FILE, print_result


@click.command()
@click.argument(
    "word", required=False, metavar="[WORD]", shell_complete=candidates.one_of(candidates.words)
)
@OUTPUT_FILE
@click.pass_context
def command(context: click.Context, word: str | None, file: Path | None) -> None:
    """Explain a word of the reports: load, ram, exclusive, core, neutral, merge base.

    Without WORD, list all words.

    \b
    Examples:
      sizeguard explain load
      sizeguard explain
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    import textwrap

    from sizeguard.base.nearest import did_you_mean, nearest_names
    from sizeguard.report.screen.glossary import WORDS

    if word is None:
        width = max(map(len, WORDS))
        lines = (f"{name:<{width}}  {each.short}" for name, each in WORDS.items())
        print_result("\n".join(lines), file)
        return
    name = word.strip("`'\"()").lower()
    name = {"-": "–"}.get(name, name)
    name = next((each for each in WORDS if each.replace("_", " ") == name.replace("_", " ")), name)
    if name not in WORDS:
        near = did_you_mean(name, WORDS) if nearest_names(name, WORDS) else ""
        raise InputError(f"unknown word '{word}'{near or '; sizeguard explain lists all words'}")
    found = WORDS[name]
    long = textwrap.fill(found.long, min(80, context.meta.get(WIDTH, 80)))
    see = f"\n\nsee: {found.see}" if found.see else ""
    print_result(f"{name}: {found.short}\n\n{long}{see}", file)
