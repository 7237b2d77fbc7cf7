# make run    one iteration of the loop on this machine, from the models in the box; ends with the path of an HTML report
# make test   linter, types and tests
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test lint pictures bench clean

run: .venv/installed
	$(BIN)/parc loop out/run --preset quick

test: .venv/ready lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: .venv/ready
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/mypy

pictures: .venv/ready
	$(BIN)/parc demo -o out/demo --pictures docs/pictures
	$(BIN)/parc loop out/run --preset quick
	$(BIN)/parc status out/run --figure docs/pictures/loop.svg

bench: .venv/ready
	$(BIN)/parc bench sdf --json
	$(BIN)/parc bench plan --json

# Without a GPU the CPU build of PyTorch will do: a tenth of the download.
CPU_WHEELS := https://download.pytorch.org/whl/cpu

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e . $$(command -v nvidia-smi >/dev/null || { \
	  curl -sfI --max-time 5 $(CPU_WHEELS)/torch/ >/dev/null && echo --extra-index-url $(CPU_WHEELS); })
	touch $@

.venv/ready: .venv/installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	touch $@

clean:
	rm -rf .venv out build dist src/*.egg-info
