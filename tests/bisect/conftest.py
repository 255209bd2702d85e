"""The history that tests of bisect share."""

from __future__ import annotations

import pytest

from tests.support.histories.small_history import SmallRepository


@pytest.fixture(scope="module")
def spike(
    tmp_path_factory: pytest.TempPathFactory, native_tools: None
) -> tuple[SmallRepository, dict[str, str]]:
    """Make sixteen commits: changes of size, failed builds, documents and plateaus.

    Four change the size, and one of them undoes another; two do not build; three change documents.
    """
    repository = SmallRepository(tmp_path_factory.mktemp("spike") / "r")
    names = {"good": repository.sized(40)}

    def plateau(name: str) -> None:
        names[name] = repository.commit(
            name, {"main.c": (repository.path / "main.c").read_text() + f"/* {name} */\n"}
        )

    plateau("plateau 1")
    names["docs 1"] = repository.commit("docs 1", {"README.md": "1"})
    names["grow"] = repository.sized(80)
    plateau("plateau 2")
    plateau("plateau 3")
    plateau("plateau 3b")
    names["spike"] = repository.sized(4080)
    names["docs 2"] = repository.commit("docs 2", {"README.md": "2"})
    names["broken 1"] = repository.commit("broken 1", {"main.c": "int main(void) { return x; }\n"})
    names["broken 2"] = repository.commit("broken 2", {"main.c": "int main(void) { return y; }\n"})
    names["undo"] = repository.sized(88)
    plateau("plateau 4")
    plateau("plateau 5")
    plateau("plateau 6")
    names["docs 3"] = repository.commit("docs 3", {"docs/a.md": "3"})
    names["shrink"] = repository.sized(48)
    names["bad"] = names["shrink"]
    return repository, names
