"""The command `sizeguard codegen`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from sizeguard.base.files import cannot_write, write_if_changed
from sizeguard.cli.option_groups import PATH, WrittenFolder, WrittenPath
from sizeguard.operators.library import DISPATCH_KEYS


def print_inputs(context: click.Context, _: click.Parameter, value: bool) -> None:
    """Print the generator's own files, so that build systems run it again when one changes."""
    if not value or context.resilient_parsing:
        return
    from sizeguard.runtimes.sizeguard.native_tree import generator_files

    for path in generator_files(models=True):
        click.echo(path)
    context.exit()


@click.command()
@click.option(
    "--operators-yaml",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="The operators.yaml of a kernel library.",
)
@click.option(
    "--kernel-sources",
    multiple=True,
    type=PATH,
    metavar="DIR",
    help="Sources whose dtype switches get selection headers.",
)
@click.option(
    "--selection",
    "selections",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Selection file. Several files are merged.",
)
@click.option("--root-ops", default="", metavar="A,B", help="Operators to keep, by name.")
@click.option(
    "--ops-schema-yaml",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Keep all operators of this operators.yaml.",
)
@click.option(
    "--ops-from-model",
    multiple=True,
    type=PATH,
    metavar="MODEL",
    help="Keep the operators that a model names.",
)
@click.option(
    "--op-deps",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Also keep the callees of named operators and models, as listed in this op_deps.yaml.",
)
@click.option(
    "--pytorch-names",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Translate names of PyTorch and ExecuTorch with this pytorch_names.yaml; selections and "
    "models need --op-deps, too.",
)
@click.option("--exact", is_flag=True, help="Keep no callees; ignore op_deps.yaml.")
@click.option("--all-operators", is_flag=True, help="Select everything.")
@click.option("--no-operators", is_flag=True, help="Select nothing: a runtime that can only load.")
@click.option(
    "--build-feature",
    "build_features",
    multiple=True,
    metavar="NAME",
    help="Also keep this build feature.",
)
@click.option(
    "--all-dtypes", is_flag=True, help="Select operators, but keep every dtype of every switch."
)
@click.option(
    "--require-dtypes", is_flag=True, help="Fail if the selection does not select dtypes."
)
@click.option(
    "--shared-with",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Selection of another app that uses the same kernels and runtime.",
)
@click.option(
    "--dispatch-keys",
    default=",".join(DISPATCH_KEYS),
    show_default=True,
    metavar="A,B",
    help="Register only operators of these keys.",
)
@click.option(
    "--library-name",
    default="portable",
    show_default=True,
    metavar="NAME",
    help="Name under which operators are registered.",
)
@click.option(
    "--inputs",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_inputs,
    help="Print the files that generate code, one per line, and exit.",
)
@click.option(
    "--merge-yaml",
    nargs=2,
    type=PATH,
    metavar="FUNCTIONS FALLBACK",
    help="Only merge two lists of operators into merged.yaml; the first list wins.",
)
@click.option(
    "--output-dir",
    required=True,
    type=WrittenFolder("selected_operators.yaml", "merged.yaml"),
    metavar="DIR",
    help="Folder for generated/, selected/ and the effective selection.",
)
@click.option(
    "--stamp",
    type=WrittenPath(),
    metavar="FILE",
    help="A file to touch when done, for build tools.",
)
@click.option(
    "--selection-only", is_flag=True, help="Write only the merged selected_operators.yaml."
)
# More than 40 lines: each option goes to the step that it is for.
def command(
    operators_yaml: tuple[Path, ...],
    kernel_sources: tuple[Path, ...],
    selections: tuple[Path, ...],
    root_ops: str,
    ops_schema_yaml: tuple[Path, ...],
    ops_from_model: tuple[Path, ...],
    op_deps: tuple[Path, ...],
    pytorch_names: tuple[Path, ...],
    exact: bool,
    all_operators: bool,
    no_operators: bool,
    build_features: tuple[str, ...],
    all_dtypes: bool,
    require_dtypes: bool,
    shared_with: tuple[Path, ...],
    dispatch_keys: str,
    library_name: str,
    merge_yaml: tuple[Path, Path] | None,
    output_dir: Path,
    stamp: Path | None,
    selection_only: bool,
) -> None:
    """Write registration sources and selection headers.

    Only files whose content changes are written.

    \b
    Example:
      sizeguard codegen --operators-yaml native/operators/operators.yaml \\
          --kernel-sources native --selection selected_operators.yaml \\
          --output-dir build/generated
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.operators.schema_names import MERGED, merged_lists
    from sizeguard.runtimes.model_files import read_operators
    from sizeguard.runtimes.sizeguard.codegen.generate import Inputs, generate, write_outputs
    from sizeguard.runtimes.sizeguard.sources.asked_names import scan_features
    from sizeguard.runtimes.sizeguard.sources.tags import source_files
    from sizeguard.selection.united import (
        SelectionSources,
        check_has_dtypes,
        shared_selection,
        united_selection,
        united_selection_file,
        with_features,
    )

    if merge_yaml:
        write_if_changed(output_dir / MERGED, merged_lists(*merge_yaml))
        return
    sources = SelectionSources(
        selections,
        tuple(filter(None, re.split(r"[\s,;]+", root_ops))),
        ops_schema_yaml,
        ops_from_model,
        all_operators,
        no_operators,
        op_deps,
        exact,
        frozenset(scan_features(source_files(kernel_sources))) if require_dtypes else None,
        pytorch_names,
    )
    united = united_selection(sources, read_operators)
    selection, source = with_features(united.selection, build_features), united.source
    for note in united.notes:
        click.echo(note)
    if require_dtypes:
        check_has_dtypes(selection, source)
    if selection_only:
        files = united_selection_file(selection)
    else:
        features = scan_features(source_files(kernel_sources))
        left_out = [name for name in features if not selection.is_feature_selected(name)]
        if left_out:
            click.echo(f"{source}: build features left out: {', '.join(left_out)}")
        shared = shared_selection(selection, shared_with)
        has_all_dtypes = all_dtypes or shared.all_non_operators_included
        if has_all_dtypes and not shared.include_all_operators:
            click.echo(f"{source}: all dtypes are kept, because none are selected")
        files = generate(
            Inputs(
                operators_yaml=operators_yaml,
                kernel_sources=kernel_sources,
                selection=shared,
                source=source,
                all_dtypes=all_dtypes,
                dispatch_keys=tuple(dispatch_keys.split(",")),
                library=library_name,
            )
        )
    write_outputs(output_dir, files)
    if stamp is not None:
        _touch(stamp)


def _touch(stamp: Path) -> None:
    try:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.touch()
    except OSError as error:
        raise cannot_write(stamp, error) from error
