# make run    one iteration of the loop on this machine, from the models in the box; ends with the path of an HTML report
# make test   linter, types and tests
# make docs   the documentation site in out/docs, with the page in front where there is npm (PLAY=no: without)
# make page   the page in out/site, for any file host; needs npm
PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test lint docs pictures page bench clean

run: .venv/installed
	$(BIN)/parc loop out/run --preset quick

test: .venv/ready lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

lint: .venv/ready
	$(BIN)/ruff check src tests examples tools recipes benchmarks
	$(BIN)/ruff format --check src tests examples tools recipes benchmarks
	$(BIN)/mypy

docs: .venv/docs
	$(BIN)/python tools/docs_site/build.py $(if $(filter no,$(PLAY)),--no-play)

pictures: .venv/ready
	$(BIN)/python tools/make_pictures.py

page: .venv/installed
	$(PIP) -c constraints.txt --no-build-isolation -e '.[onnx]'
	$(BIN)/parc web -o out/site

bench: .venv/ready
	$(BIN)/python benchmarks/run.py sdf --json
	$(BIN)/python benchmarks/run.py plan --json

# requirements.lock: everything but PyTorch, with hashes. `make run LOCK=` takes the versions of constraints.txt without hashes,
# e.g. from an index with files of its own.
LOCK ?= requirements.lock
PIP := $(BIN)/python -m pip install --quiet
# Without a GPU the CPU build of PyTorch will do: a tenth of the download. Its index is asked for PyTorch alone.
CPU_WHEELS := https://download.pytorch.org/whl/cpu

.venv/installed: pyproject.toml constraints.txt requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) $(if $(LOCK),--no-deps --require-hashes --only-binary :all: -r $(LOCK),-c constraints.txt pip setuptools)
	$(PIP) -c constraints.txt torch $$(command -v nvidia-smi >/dev/null || { \
	  curl -sfI --max-time 5 $(CPU_WHEELS)/torch/ >/dev/null && echo --no-deps --index-url $(CPU_WHEELS); })
	$(PIP) -c constraints.txt --no-build-isolation $(if $(LOCK),--no-deps) -e .
	$(BIN)/python -m pip check
	touch $@

.venv/ready: .venv/installed
	$(PIP) -c constraints.txt --no-build-isolation -e '.[test]'
	touch $@

.venv/docs: .venv/installed
	$(PIP) -c constraints.txt --no-build-isolation -e '.[docs,onnx]'
	touch $@

clean:
	rm -rf .venv out build dist src/*.egg-info
