"""Turns the command line of `sizeguard select` into calls that read, unite and check operator selections."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(path_type=Path)
FORMAT = click.Choice(("terminal", "json", "markdown", "csv"))
DISPATCHER = click.option(
    "--dispatcher",
    multiple=True,
    metavar="FUNCTION",
    default=("sg::call_words", "sg::find_operator"),
    help="A function that takes an operator's name, instead of the runtime's. May be given again.",
)


@click.group()
def command() -> None:
    """Read operator selections out of models, unite them and check them.

    Example: sizeguard select ops vision.pt2 -o selected_operators.yaml
    """


@command.command()
@click.argument("models", nargs=-1, type=FILE, metavar="MODEL...")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the operators as a selection.")
@click.option("--format", "format_", type=FORMAT, default="terminal", show_default=True)
@click.option("--list", "list_all", is_flag=True, help="Print every operator that the runtime supports.")
def ops(models: tuple[Path, ...], output: Path | None, format_: str, list_all: bool) -> None:
    """Print the operators that models (.sgp, .pt2, .pte, .ptl) name, with the dtypes of the tensors at their calls.

    The selection that -o writes has the models' root operators. Operators that only other operators call, and the dtypes inside
    of kernels, are not in a model file: `sizeguard trace` finds them by running. Until then every dtype, class and feature is
    kept (include_all_non_op_selectives), except for ExecuTorch's programs, whose kernel keys say all.

    Example: sizeguard select ops vision.pt2 keywords.sgp -o selected_operators.yaml
    """
    from sizeguard.model_import.importer import default_library
    from sizeguard.report.operators import library_text, model_operators_text
    from sizeguard.selection.from_models import read_models, selection_of_models
    from sizeguard.selection.yaml_writer import write_selection

    if list_all == bool(models):
        raise click.UsageError("give one or more models, or --list")
    if list_all:
        click.echo(library_text(default_library().values(), format_))
        return
    infos = read_models(models)
    if output is not None:
        write_selection(output, selection_of_models(infos))
    click.echo(model_operators_text(infos, format_))


@command.command()
@click.argument("models", nargs=-1, type=FILE, metavar="MODEL...")
@click.option("--build", "full", type=FILE, metavar="BUILD", help="The full build; build/full otherwise.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the operators in reach as a selection.")
@click.option("--op-deps", type=FILE, metavar="FILE", help="Write who calls whom, of all operators, as PyTorch's op_deps.yaml.")
@DISPATCHER
@click.option("--format", "format_", type=FORMAT, default="terminal", show_default=True)
def static(
    models: tuple[Path, ...], full: Path | None, output: Path | None, op_deps: Path | None, dispatcher: tuple[str, ...], format_: str
) -> None:
    """Print the operators that models can reach: what they name and all that these can call, whatever the input.

    Who calls whom is read from the relocations of the full build's objects. Dtypes are kept as far as the model tells them, all
    of a kernel tag otherwise; build features are all kept. What cannot be known is listed.

    \b
    Examples:
      sizeguard select static vision.pt2 -o selection.yaml
      sizeguard select static --op-deps op_deps.yaml
    """
    from sizeguard.attribution.static_selection import features_of, read_full_build, static_selection
    from sizeguard.project import project_root
    from sizeguard.report.reachable import static_text
    from sizeguard.selection.from_models import read_models
    from sizeguard.selection.op_deps import write_op_deps
    from sizeguard.selection.yaml_writer import write_selection

    if not models and (op_deps is None or output is not None):
        raise click.UsageError("give one or more models, or --op-deps FILE alone")
    build = read_full_build(full or project_root() / "build" / "full", dispatcher)
    found = build.dependencies
    if op_deps is not None:
        unknown = [(owner, where.function) for owner, places in sorted(found.unknown.items()) for where in places]
        write_op_deps(op_deps, {name: found.calls[name] for name in build.operators}, found.at_load, unknown)
    if models:
        result = static_selection(build, read_models(models), features_of([project_root() / "native"]))
        if output is not None:
            write_selection(output, result.selection)
        click.echo(static_text(result, found.calls, format_))


@command.command()
@click.argument("model", type=FILE)
@click.option("--build", "full", type=FILE, metavar="BUILD", help="The full build; build/full otherwise.")
@click.option("--trace", "traced", type=FILE, metavar="SELECTION", help="Made by trace --executed-only; traced now otherwise.")
@DISPATCHER
@click.option("--format", "format_", type=FORMAT, default="terminal", show_default=True)
def adequacy(model: Path, full: Path | None, traced: Path | None, dispatcher: tuple[str, ...], format_: str) -> None:
    """Compare what a model can reach with what its trace saw: the branches that no input took.

    Exit 1 if the trace saw something that is not in reach: then the build is of another runtime than the trace.

    Example: sizeguard select adequacy branchy/model.pt2 --build build/full
    """
    import tempfile

    from sizeguard.attribution.adequacy import adequacy as compare
    from sizeguard.attribution.static_selection import read_full_build
    from sizeguard.build.programs import program_of
    from sizeguard.build.trace import trace
    from sizeguard.errors import GateError
    from sizeguard.model_import.op_info import read_operators
    from sizeguard.project import project_root
    from sizeguard.report.reachable import adequacy_text
    from sizeguard.selection.yaml_reader import read_selection

    root = project_root()
    build = read_full_build(full or root / "build" / "full", dispatcher)
    program = program_of(model, root / "build" / "programs")
    with tempfile.TemporaryDirectory() as folder:
        file = traced or Path(folder) / "traced.yaml"
        if traced is None:
            trace(root, [program], file, executed_only=True)
        selection = read_selection(file).selection
    result = compare(build, read_operators(program), selection)
    click.echo(adequacy_text(result, format_))
    if not result.is_contained:
        wrong = len(result.observed_not_reachable) + len(result.dtypes_observed_not_reachable)
        raise GateError(f"{model}: the trace saw {wrong} operators or dtypes that the graph does not reach")


@command.command()
@click.argument("selections", nargs=-1, required=True, type=FILE, metavar="SELECTION...")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write here instead of to standard output.")
def merge(selections: tuple[Path, ...], output: Path | None) -> None:
    """Unite selection files, and say on stderr which of them widened the result.

    Example: sizeguard select merge vision.yaml speech.yaml -o selected_operators.yaml
    """
    from sizeguard.selection.merge import describe
    from sizeguard.selection.merge import merge as merge_selections
    from sizeguard.selection.yaml_reader import read_selection
    from sizeguard.selection.yaml_writer import format_selection, write_selection

    merged = merge_selections([(str(path), read_selection(path).selection) for path in selections])
    for line in describe(merged):
        click.echo(line, err=True)
    if output is None:
        click.echo(format_selection(merged.selection), nl=False)
    else:
        write_selection(output, merged.selection)


@command.command()
@click.argument("selections", nargs=-1, required=True, type=FILE, metavar="SELECTION...")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--operators-yaml", multiple=True, type=FILE, metavar="FILE", help="The operators that there are, instead of the runtime's.")
@click.option("--kernel-sources", multiple=True, type=FILE, metavar="DIR", help="Where the dtype switches are, instead of the runtime's.")
@click.option("--format", "format_", type=FORMAT, default="terminal", show_default=True)
def lint(
    selections: tuple[Path, ...], strict: bool, operators_yaml: tuple[Path, ...], kernel_sources: tuple[Path, ...], format_: str
) -> None:
    """Check selection files, one by one and as they would be merged: exit 1 if one has an error.

    Example: sizeguard select lint --strict native/apps/vision/selected_operators.yaml
    """
    from sizeguard.codegen.tags import scan_tags
    from sizeguard.errors import GateError
    from sizeguard.operator_library import read_operator_libraries
    from sizeguard.project import project_root
    from sizeguard.report.findings import findings_text, summary
    from sizeguard.selection.lint import has_errors
    from sizeguard.selection.lint import lint as lint_selections
    from sizeguard.selection.yaml_reader import read_selection

    files = [read_selection(path) for path in selections]
    # Of the tree that one works in: where a hook runs this, the package alone is installed elsewhere.
    own = [] if operators_yaml and kernel_sources else [project_root() / "native" / library for library in ("operators", "prepacked")]
    operators = read_operator_libraries(operators_yaml or [folder / "operators.yaml" for folder in own])
    switches = scan_tags(kernel_sources or own)
    findings = lint_selections(files, operators, switches)
    click.echo(findings_text(findings, format_))
    if has_errors(findings, strict=strict):
        raise GateError(f"{', '.join(map(str, selections))}: {summary(findings)}")


@command.command()
@click.option("--app", "apps", multiple=True, metavar="NAME", help="Only this app of sizeguard.yaml. May be given again.")
@click.option("--exact", "how", flag_value="traced", help="Keep what the traces used and no more.")
@click.option("--static", "how", flag_value="reachable", help="Add all that the models and the kernels in their reach can call.")
def update(apps: tuple[str, ...], how: str | None) -> None:
    """Trace an app's models again, add to its selection what they used, and record what they were traced with.

    The record, in baselines/selections, names the models by content and says what each selected kernel calls: review it as you
    review the selection. The gate traces again only what it no longer holds for.

    Example: sizeguard select update --app vision
    """
    from sizeguard.attribution.store import default_store
    from sizeguard.gate.config import chosen_apps
    from sizeguard.gate.config_reader import read_config
    from sizeguard.gate.kernel_calls import kernel_calls
    from sizeguard.gate.selection_update import WIDENED, update_selection
    from sizeguard.gate.selections import full_build
    from sizeguard.gate.traced import Tracer, read_model
    from sizeguard.project import project_root
    from sizeguard.report.selection_update import update_text

    root = project_root()
    store = default_store(root)
    chosen = chosen_apps(read_config(root), apps)
    calls = kernel_calls(full_build(root, ()), store)
    tracer = Tracer(root, store)
    for app in chosen:
        models = [read_model(root, model, store) for model in app.models]
        click.echo(update_text(root, update_selection(root, app, models, calls, tracer, how or WIDENED)))
