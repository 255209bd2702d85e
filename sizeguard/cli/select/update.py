"""The command `sizeguard select update`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli.option_groups import OUTPUT_FILE, print_result
from sizeguard.cli.project_options import RUNTIME_SOURCE, only_apps


@click.command()
@only_apps
@RUNTIME_SOURCE
@click.option(
    "--exact",
    "is_exact",
    is_flag=True,
    help="Keep only the parts that the traces used, and the selection's build features.",
)
@click.option(
    "--static",
    "is_static",
    is_flag=True,
    help="Add everything that the models and their kernels can call.",
)
@OUTPUT_FILE
def command(
    apps: tuple[str, ...],
    runtime_source: Path | None,
    is_exact: bool,
    is_static: bool,
    file: Path | None,
) -> None:
    """Trace an app's models again, add the used parts to its selection, and record the trace.

    The record in baselines/selections has the hash of each model and the callees of each selected
    kernel. Review it like the selection. The gate traces again only if the record is out of date.

    Example: sizeguard select update --app vision
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.gate.cache.calls import kernel_calls
    from sizeguard.gate.cache.traces import Tracer, read_model
    from sizeguard.gate.selection.all_apps import full_build
    from sizeguard.gate.selection.retrace import REACHABLE, TRACED, WIDENED, update_selection
    from sizeguard.measurement.store_place import project_store
    from sizeguard.projects.project import chosen_apps
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root, source_root
    from sizeguard.report.selection.selection_changes import update_text
    from sizeguard.runtimes.known import source_tree

    if is_exact and is_static:
        raise click.UsageError("give --exact or --static, not both")
    how = TRACED if is_exact else REACHABLE if is_static else WIDENED
    root = project_root()
    source = source_root(runtime_source)
    store = project_store(root)
    chosen = [app for app in chosen_apps(read_config(root), apps) if app.is_selective]
    if not chosen:
        raise InputError("no app that was requested has a selection of traces")
    calls = kernel_calls(full_build(source_tree(root, source)[1]), store)
    tracer = Tracer(root, store, source=source)
    texts = []
    try:
        for app in chosen:
            models = [read_model(root, model, store, source) for model in app.models]
            found = update_selection(root, app, models, calls, tracer, how)
            texts.append(update_text(root, found))
    finally:  # an app that fails leaves the updates of those before it
        print_result("\n".join(texts), file)
