# setup  makes .venv with the sizeguard command and installs what the system lacks
# gate   builds full and selective runtimes, runs the models on both, compares sizes with baselines/
# test   what a change must pass       lint  its quick part
# bench  measures run times            soak  the long checks: fuzzing, all models × compilers

.PHONY: setup setup-test gate test lint bench soak clean

setup:
	@.ci/setup gate

setup-test:
	@.ci/setup test

gate: setup
	.venv/bin/sizeguard gate

lint: setup-test
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy --strict sizeguard
	clang-format-19 --dry-run -Werror $$(git ls-files 'native/*.cpp' 'native/*.h')

test: lint
	.venv/bin/pytest -n 2 --dist loadfile

bench: setup-test
	.venv/bin/python tests/bench/section_graph.py
	.venv/bin/python tests/bench/gate_speed.py
	@test -n "$(TORCH_PYTHON)" || { echo "error: name a Python that has torch 2.13: make bench TORCH_PYTHON=path" >&2; exit 2; }
	.venv/bin/python tests/soak/mobilenet_speed.py --torch-python $(TORCH_PYTHON)
	.venv/bin/python tests/bench/report_speed.py "$$($(TORCH_PYTHON) -c 'import importlib.util as u; print(u.find_spec("torch").origin.replace("__init__.py", "lib/libtorch_cpu.so"))')"

soak: setup-test
	.venv/bin/python tests/soak/sanitized_models.py
	.venv/bin/python tests/soak/fuzz.py
	.venv/bin/python tests/soak/gate_kills.py
	.venv/bin/python tests/soak/size_table.py
	.venv/bin/python tests/soak/dtype_truth.py
	.venv/bin/python tests/soak/targets.py
	.venv/bin/python tests/soak/mutate.py
	.venv/bin/python tests/soak/live_set.py
	.venv/bin/python tests/soak/retention.py
	.venv/bin/python tests/soak/defects.py
	.venv/bin/python tests/soak/native_live_set.py
	.venv/bin/python tests/soak/lto_live_set.py
	.venv/bin/python tests/soak/why_live.py
	.venv/bin/python tests/soak/exclusive_truth.py
	.venv/bin/python tests/soak/predict_truth.py
	.venv/bin/python tests/soak/bisect_history.py

clean:
	rm -rf build
