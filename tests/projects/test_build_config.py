"""Configuration of builds: wrong lines, names and targets, and line ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.projects.reader import parse_config
from tests.support.tricks.c_project import config_of


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{image: x, setup: y}", "setup needs a build command, but there is no build"),
        ("{build: make}", "names no image"),
        ("{build: make, image: /bin/sh}", "'/bin/sh' is not a path inside the source tree"),
        ("{build: make, image: ../x}", "'../x' is not a path inside the source tree"),
        ("{image: x, objects: out/**.o}", "'out/**.o' is not a pattern of files"),
        ("{image: x, also: ./}", "'.' is not a pattern of files"),
        ("{build: make, images: {}}", "names no images"),
        ("{images: {p: x}, map: y}", "map belongs to one image"),
        ("{image: x, build: make, timeout: soon}", "'soon' is not a time; write 90 s or 30 min"),
        ("{image: x, build: make, timeout: 0}", "'0' is not a time"),
        ("{image: x, build: make, env: [A-B]}", "'A-B' is not a variable name"),
        ("{image: x, biuld: make}", "unknown key 'biuld'; nearest is 'build'"),
        ("{image: x, models: []}", "models is for apps of a known runtime"),
        ("{images: {p: {image: x, oops: 1}}}", "unknown key 'oops'; there are image,"),
        ("{images: {'a b': x}}", "'a b' is not an image name"),
    ],
)
def test_a_wrong_line_of_the_configuration_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_config(Path("/p"), f"apps:\n  a: {text}\n".encode())
    assert str(error.value).startswith("sizeguard.yaml:")
    assert message in str(error.value)


def test_two_images_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match=r"two apps or images are called 'a\.p'"):
        parse_config(Path("/p"), b"apps: {a: {images: {p: x}}, a.p: {image: y}}\n")


def test_two_builds_of_one_folder_are_refused() -> None:
    """Each would be judged by the other's files and baseline."""
    text = b"apps: {a: {image: x, targets: {b.c: }}, a.b: {image: y, targets: {c: }}}\n"
    with pytest.raises(InputError, match=r"a for b\.c and a\.b for c would have the same files"):
        parse_config(Path("/p"), text)


def test_a_target_that_only_an_app_names_is_one_more() -> None:
    config = parse_config(
        Path("/p"),
        b"targets: {x86_64-linux: }\n"
        b"apps: {a: {build: b, image: i, targets: {arm: {build: c, limits: {load: 1 B}}}}}\n",
    )
    (app,) = config.apps
    assert app.targets == ("x86_64-linux", "arm")
    assert [app.steps[name].build for name in app.targets] == ["b", "c"]
    assert [(limit.metric, limit.target) for limit in config.limits] == [("load", "arm")]


def test_windows_line_ends_are_line_ends() -> None:
    config = parse_config(Path("/p"), config_of("build: make app", "run: ./app").encode())
    text = config_of("build: make app", "run: ./app").replace("\n", "\r\n").encode()
    assert parse_config(Path("/p"), text) == config
