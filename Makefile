# make run    one small, complete job on this machine; ends with the path of an HTML report
# make test   linter, types and tests
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test lint pictures bench clean

run: .venv/ready
	$(BIN)/parc demo -o out/demo

test: .venv/ready lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: .venv/ready
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/mypy

pictures: .venv/ready
	$(BIN)/parc demo -o out/demo --pictures docs/pictures

bench: .venv/ready
	$(BIN)/parc bench sdf --json
	$(BIN)/parc bench plan --json

.venv/ready: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[test]'
	touch $@

clean:
	rm -rf .venv out build dist src/*.egg-info
