# setup  makes .venv with the sizeguard command and installs what the system lacks
# gate   builds full and selective runtimes, runs the models on both, compares sizes with baselines/
# test   what a change must pass       lint  its quick part       unit  its tests without a compiler
# docs   writes the documentation as a site to build/site
# bench  measures run times; two benchmarks run only with TORCH_PYTHON=path, a Python that has torch 2.13
# soak   the long checks: fuzzing, all models × compilers

# Where this is set, each worker of pytest would rewrite the assertions of all tests in each run: 20 s.
export PYTHONDONTWRITEBYTECODE =

.PHONY: setup setup-unit setup-test gate test unit lint lint-types lint-later-types lint-texts docs bench soak clean

setup:
	@.ci/setup gate

setup-unit:
	@.ci/setup unit

setup-test:
	@.ci/setup test

gate: setup
	.venv/bin/sizeguard gate

# Two at a time: each of the first two takes a core for half a minute.
lint: setup-test
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target lint-types lint-later-types lint-texts

lint-types:
	.venv/bin/mypy --strict sizeguard

lint-later-types:
	.venv/bin/mypy --strict --python-version 3.13 sizeguard

lint-texts:
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/python ci/layout.py
	.venv/bin/codespell
	.venv/bin/zizmor --offline --quiet --persona auditor .github action.yml
	.venv/bin/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.venv/bin/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	.venv/bin/check-jsonschema --quiet --builtin-schema vendor.gitlab-ci ci/gitlab/*.yml
	clang-format-19 --style=file:native/.clang-format --dry-run -Werror $$(git ls-files 'native/*.cpp' 'native/*.h' 'sizeguard/*/compiled/*')

test: lint
	.venv/bin/pytest -n 2 --dist loadfile --no-loadscope-reorder

unit: setup-unit
	.venv/bin/pytest -m "not native" -n 2 --dist loadfile

docs: setup-test
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --config-file ci/site/mkdocs.yml

bench: setup-test
	.venv/bin/python -m tests.bench.run $(if $(TORCH_PYTHON),--torch-python "$(TORCH_PYTHON)")

soak: setup-test
	.venv/bin/python -m tests.soak.run

clean:
	rm -rf build
