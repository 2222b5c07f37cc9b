# make run [PORT=8123]   set up what is missing and start; the first start prints a sign-in link
# make build             all that a start needs, and nothing is started: for images (docs/deploy)
# make test [ARGS=…]     the suite (ARGS goes to pytest)
# make check             format, lint, types, import layers, unit tests, design tokens
# make accept            the README's tour in a clone, in a real browser, by the words of the README alone
# make soak · make bench   kills, races and floods · the figures of proof/proof.md
# make agents            real coding agents from npm, without network, against a scripted model: what is derived
# make runner ARGS="--server https://…"   do the work of a server elsewhere on this machine (docs/runners.md)
# make release   wheels of the server and of the command line, in release/, each tried in an empty environment
# make picture           the drawing at the top of the README, by the product's own export
# make clean             removes what set-up, build, tests and stations made; the state in .gateline stays, and the homes of agents
PYTHON ?= python3
export PORT HOST
ARGS ?=

.PHONY: run build test soak check bench agents runner release picture accept clean
run build test soak check bench agents runner release accept:
	@command -v "$(PYTHON)" >/dev/null || { echo "There is no $(PYTHON): install Python 3.11 to 3.13 (with venv), or name one: make $@ PYTHON=/path/to/python3.13"; exit 1; }
	@exec "$(PYTHON)" config/bootstrap.py $@ $(ARGS)

picture:
	PICTURE=1 $(MAKE) test ARGS=tests/browser/test_readme_picture.py

clean:
	"$(PYTHON)" -B -m pipelines.work.workspace_folder
	rm -rf .venv .contenders node_modules static/dist .test-state .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache release
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
