"""The command `sizeguard explain`."""

from __future__ import annotations

import click

from sizeguard.base.errors import InputError
from sizeguard.cli import candidates
from sizeguard.cli.lazy_group import WIDTH


@click.command()
@click.argument(
    "word", required=False, metavar="[WORD]", shell_complete=candidates.one_of(candidates.words)
)
@click.pass_context
def command(context: click.Context, word: str | None) -> None:
    """Explain a word of the reports: load, ram, exclusive, core, neutral, inconclusive.

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
        for name, each in WORDS.items():
            click.echo(f"{name:<{width}}  {each.short}")
        return
    name = word.strip("`'\"()").lower()
    name = {"-": "–", "page slack": "page_slack"}.get(name, name)
    if name not in WORDS:
        near = did_you_mean(name, WORDS) if nearest_names(name, WORDS) else ""
        raise InputError(f"unknown word '{word}'{near or '; sizeguard explain lists all words'}")
    found = WORDS[name]
    click.echo(f"{name}: {found.short}\n")
    click.echo(textwrap.fill(found.long, min(80, context.meta.get(WIDTH, 80))))
    if found.see:
        click.echo(f"\nsee: {found.see}")
