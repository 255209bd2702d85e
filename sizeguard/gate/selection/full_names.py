"""Write the names of a full build, and check whether the stored names are up to date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import listed
from sizeguard.base.files import write_if_changed
from sizeguard.builds.build_record import Build
from sizeguard.builds.open_build import files_of
from sizeguard.claims.listed_names import BuildNames, FeatureMarks
from sizeguard.claims.names_file import names_text
from sizeguard.predict.what_if import predictor_of
from sizeguard.runtimes.known import source_tree
from sizeguard.runtimes.runtime import BuildOptions, Runtime, SourceTree
from sizeguard.selection.selection import SelectedOperator, Selection
from sizeguard.selection.write import write_selection
from sizeguard.verify.build_names import names_of
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.features.feature_marks import feature_marks, signs_of_build
from sizeguard.verify.features.feature_verdicts import lost_signs
from sizeguard.verify.kept_names import names_of_build

_SHOWN = 3  # names in a message


def full_names(root: Path, source: Path, options: BuildOptions) -> BuildNames:
    """Make a full build, and one without each build feature, and read the names.

    Raises BuildError.
    """
    runtime, tree = source_tree(root, source)
    whole = tree.build_full(options)
    full = _evidence(runtime, whole)
    names = names_of(full, runtime.vocabulary)
    features = tree.asked_features()
    marks, signs = {}, signs_of_build(full)
    predictor = predictor_of(whole.image.parent)
    for feature in features:
        kept = frozenset(features) - {feature}
        without = _build_of(root, tree, names, kept, feature, options)
        found = feature_marks(signs, signs_of_build(_evidence(runtime, without)))
        marks[feature] = replace(
            found,
            load=whole.sizes.load - without.sizes.load,
            linked=predictor.linked(found.functions),
        )
    return replace(names, features=marks)


def _evidence(runtime: Runtime, build: Build) -> Evidence:
    return gather(files_of(build), runtime.vocabulary.hidden_prefixes)


def _build_of(
    root: Path,
    tree: SourceTree,
    names: BuildNames,
    features: frozenset[str],
    left_out: str,
    options: BuildOptions,
) -> Build:
    entry = SelectedOperator(True, False, False)
    selection = Selection(
        operators=dict.fromkeys(names.operators, entry),
        kernel_metadata={tag: frozenset(dtypes) for tag, dtypes in names.dtypes.items()},
        custom_classes=frozenset(names.classes),
        build_features=features,
    )
    path = root / "build" / f"without_{left_out}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_selection(path, selection)
    return tree.build_app(f"without_{left_out}", path, options)


def update_names(root: Path, source: Path, options: BuildOptions) -> tuple[Path, bool]:
    """Write the names beside the operators; the second value is whether they changed."""
    path = source_tree(root, source)[1].names_file()
    return path, write_if_changed(path, names_text(full_names(root, source, options)))


def stale_names(root: Path, source: Path | None, full: Build) -> tuple[tuple[str, bool], ...]:
    """List how the stored names differ from those of a full build; empty if they are equal.

    A compiler may leave names out of its debug information, so a tag or body that only the stored
    names have is not a difference. The second value of each is whether the name is an operator, a
    class or a feature. Claims are made from these, so a change could hide claims.
    """
    runtime, tree = source_tree(root, source)
    kept = tree.names()
    found = names_of_build(full, runtime.vocabulary)
    return (
        *_differences(kept, found, tree.asked_features()),
        *((said, True) for said in _lost_signs(_evidence(runtime, full), kept.features)),
    )


def _lost_signs(evidence: Evidence, features: Mapping[str, FeatureMarks]) -> Iterator[str]:
    """Say which features do not show in the full build, which has all of them."""
    for feature, marks in features.items():
        if lost := tuple(lost_signs(evidence, marks)):
            yield f"the full build has {', '.join(lost)} of the feature {feature}"


def _differences(
    kept: BuildNames, found: BuildNames, features: tuple[str, ...]
) -> Iterator[tuple[str, bool]]:
    claimed: tuple[tuple[str, Mapping[str, str], Mapping[str, str]], ...] = (
        ("operator", dict(kept.operators), dict(found.operators)),
        ("class", dict.fromkeys(kept.classes, ""), dict.fromkeys(found.classes, "")),
        ("feature", dict.fromkeys(kept.features, ""), dict.fromkeys(features, "")),
    )
    described = (
        ("dtype", _pairs(kept.dtypes), _pairs(found.dtypes)),
        ("body", _pairs(kept.bodies), _pairs(found.bodies)),
        ("helper", dict.fromkeys(kept.helpers, ""), dict.fromkeys(found.helpers, "")),
    )
    for rows, both in ((claimed, True), (described, False)):
        for what, old, new in rows:
            yield from ((said, both) for said in _said(what, old, new, both=both))


def _pairs(names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {f"{tag}: {name}": "" for tag, each in names.items() for name in each}


def _said(
    what: str, kept: Mapping[str, str], found: Mapping[str, str], *, both: bool
) -> Iterator[str]:
    new = [name for name in found if kept.get(name) != found[name]]
    gone = [name for name in kept if name not in found] if both else []
    for word, names in (("new", new), ("gone", gone)):
        if names:
            yield f"{word} {what}: {listed(sorted(names), _SHOWN)}"
