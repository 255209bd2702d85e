"""Write the reference from the code: commands, exit codes, sizeguard.yaml, schemas of results.

The pages exist only in the site, so they cannot differ from the code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files

import click

from sizeguard.cli.exit_codes import EXIT_CODES
from sizeguard.cli.main import COMMANDS, cli
from sizeguard.report.screen.glossary import WORDS

SCHEMAS = files("sizeguard.report.schemas")
CONFIG = "config.schema.json"


def navigation() -> list[object]:
    """List the pages in the form of mkdocs' `nav`."""
    commands = [path for path in reference_pages() if path.startswith("reference/commands/")]
    return [
        "reference/index.md",
        {"Commands": commands},
        "reference/configuration.md",
        "reference/exit_codes.md",
        "reference/schemas.md",
        "reference/glossary.md",
    ]


def reference_pages() -> dict[str, str]:
    """Return the text of each page, by its path in the site."""
    commands = dict(_commands(cli, "sizeguard"))
    pages = {f"reference/commands/{_slug(name)}.md": _command_page(name, command)
             for name, command in commands.items() if name != "sizeguard"}  # fmt: skip
    return {
        "reference/index.md": _index(commands),
        **pages,
        "reference/configuration.md": _configuration_page(),
        "reference/exit_codes.md": _exit_codes_page(),
        "reference/schemas.md": _schemas_page(),
        "reference/glossary.md": _glossary_page(),
    }


def _slug(name: str) -> str:
    return name.removeprefix("sizeguard ").replace(" ", "_").replace("-", "_")


def _commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        with click.Context(command, info_name=name) as context:
            for word in command.list_commands(context):
                found = command.get_command(context, word)
                if found is not None and not found.hidden:
                    yield from _commands(found, f"{name} {word}")


def _index(commands: Mapping[str, click.Command]) -> str:
    rows = "\n".join(
        f"| [`{name}`](commands/{_slug(name)}.md) | {_cell(_first(command, name))} |"
        for name, command in commands.items()
        if name != "sizeguard"
    )
    return (
        "# Reference\n\n"
        "These pages are written from the code when the site is built.\n\n"
        f"| command | what it does |\n| --- | --- |\n{rows}\n\n"
        "All commands take `--help`, and `--debug`, which shows the traceback of an error.\n"
        "[Exit codes](exit_codes.md), [sizeguard.yaml](configuration.md) and the\n"
        "[schemas of results](schemas.md) have pages of their own,\n"
        "and so has the [glossary](glossary.md).\n"
    )


def _first(command: click.Command, name: str) -> str:
    words = name.split()
    if len(words) == 2 and words[1] in COMMANDS:
        return COMMANDS[words[1]][1]
    return (command.help or "").partition("\n\n")[0].replace("\n", " ")


def _command_page(name: str, command: click.Command) -> str:
    with click.Context(command, info_name=name, help_option_names=["-h", "--help"]) as context:
        usage = " ".join(command.collect_usage_pieces(context))
        options = [p for p in command.get_params(context) if isinstance(p, click.Option)]
        shown = [record for option in options if (record := option.get_help_record(context))]
    parts = [f"# {name}", *_help_parts(command.help or "")]
    parts.insert(2, f"```text\n{name} {usage}\n```")
    rows = [f"| {_code(option)} | {_cell(what)} |" for option, what in shown]
    if rows:
        parts.append("\n".join(["## Options", "", "| option | meaning |", "| --- | --- |", *rows]))
    if command.epilog:
        parts += _help_parts(command.epilog)
    if isinstance(command, click.Group):
        with click.Context(command, info_name=name) as context:
            words = command.list_commands(context)
        links = [f"- [`{name} {word}`]({_slug(f'{name} {word}')}.md)" for word in words]
        parts.append("\n".join(["## Commands", "", *links]))
    return "\n\n".join(parts) + "\n"


def _help_parts(text: str) -> Iterator[str]:
    """Convert a help text to Markdown: paragraphs, and blocks that click does not wrap."""
    for block in re.split(r"\n[ \t]*\n", text.strip()):
        lines = block.splitlines()
        if lines[0].strip() != "\b":
            yield _prose(" ".join(line.strip() for line in lines))
            continue
        head, *rest = lines[1:]
        if head.strip() == "Exit codes:":
            yield "## Exit codes"
            codes = [line.split(maxsplit=1) for line in rest]
            rows = [f"| {code} | {_cell(what)} |" for code, what in codes]
            yield "\n".join(["| code | meaning |", "| ---: | --- |", *rows])
        elif head.endswith(":"):
            yield f"## {head.partition('(')[0].strip().rstrip(':')}"
            yield "\n".join(["```text", *(line.strip() for line in rest), "```"])
        else:
            yield "\n".join(["```text", *lines[1:], "```"])


def _prose(text: str) -> str:
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|").replace("\n", " ")


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def _glossary_page() -> str:
    parts = [
        "# Glossary",
        "The words of reports and messages; `sizeguard explain WORD` prints one.",
    ]
    for name, word in WORDS.items():
        parts += [f"## {name}", _prose(word.long)]
        if word.see:
            parts.append(f"See `{word.see}`.")
    return "\n\n".join(parts) + "\n"


def _exit_codes_page() -> str:
    codes = sorted({code for table in EXIT_CODES.values() for code in table})
    head = ["command", *map(str, codes)]
    rows = [
        [f"`{command}`", *(_cell(table.get(code, "")) for code in codes)]
        for command, table in EXIT_CODES.items()
    ]
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"# Exit codes\n\nA code that a command does not list does not occur.\n\n{table}\n"


def _configuration_page() -> str:
    schema = json.loads((SCHEMAS / CONFIG).read_text(encoding="utf-8"))
    parts = [
        "# sizeguard.yaml",
        _prose(schema.get("description", "The policy of a project.")),
        "[Gate any build](../projects.md) introduces the keys; "
        f"[`{CONFIG}`](schemas.md) is the same as a JSON schema for editors.",
        "## Top level",
        _table(schema),
    ]
    for name, definition in schema.get("$defs", {}).items():
        if "properties" in definition:
            parts += [f"## {name}", _prose(definition.get("description", "")), _table(definition)]
        elif "description" in definition:
            parts += [f"## {name}", _prose(definition["description"])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(schema: Mapping[str, object]) -> str:
    properties = schema.get("properties")
    assert isinstance(properties, dict)
    rows = [
        f"| `{name}` | {_cell(_type(entry))} | {_cell(entry.get('description', ''))} |"
        for name, entry in properties.items()
    ]
    return "\n".join(["| key | type | meaning |", "| --- | --- | --- |", *rows])


def _type(entry: Mapping[str, object]) -> str:
    if "$ref" in entry:
        return str(entry["$ref"]).rpartition("/")[2]
    if "enum" in entry:
        return " or ".join(map(str, entry["enum"]))  # type: ignore[call-overload]
    for key in ("oneOf", "anyOf"):
        if key in entry:
            kinds = [_type(each) for each in entry[key]]  # type: ignore[attr-defined]
            return " or ".join(dict.fromkeys(filter(None, kinds)))
    kind = entry.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _schemas_page() -> str:
    parts = [
        "# Schemas of results",
        "Each JSON result keeps to a schema that is installed with the package, in\n"
        "`sizeguard/report/schemas`. A key that the schema names stays, with its meaning.",
    ]
    for path in sorted(SCHEMAS.iterdir(), key=lambda each: each.name):
        if not path.name.endswith(".schema.json"):
            continue
        schema = json.loads(path.read_text(encoding="utf-8"))
        about = schema.get("description") or schema.get("title", "")
        parts += [f"## {path.name}", _prose(str(about))]
        if isinstance(schema.get("properties"), dict):
            parts.append(_table(schema))
    return "\n\n".join(part for part in parts if part) + "\n"
