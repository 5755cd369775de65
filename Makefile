# Measure and judge a suite as a baseline: `make help`. POSIX make; all the work is done by sprag.
.POSIX:

# The suite that is measured, as `sprag.toml` names it.
SUITE = cpu
# A report to write of `bench-compare`, such as md=target/gate.md or junit=target/gate.xml.
REPORT =
# How sprag is called; SPRAG=sprag takes one that is installed.
SPRAG = cargo run --release --quiet --
# Further options of measuring, such as --quick or --rigorous.
EFFORT =

RUN = target/bench-$(SUITE).json

help:
	@echo 'make bench-save-baseline  measure the suite and make it the baseline; the old one goes to baselines/archive/'
	@echo 'make bench-compare        measure the suite and judge it against the baseline; fails where it is slower'
	@echo
	@echo 'SUITE=cpu                 the suite'
	@echo 'REPORT=md=gate.md         a report of bench-compare, in a form and to a file'
	@echo 'EFFORT=--rigorous         how much time measuring may take: --quick, --rigorous'
	@echo 'SPRAG=sprag               how sprag is called'

bench-save-baseline:
	@mkdir -p target
	$(SPRAG) run --suite '$(SUITE)' $(EFFORT) --output-run '$(RUN)'
	$(SPRAG) baseline emit --suite '$(SUITE)' --run '$(RUN)'

bench-compare:
	@set --; if [ -n '$(REPORT)' ]; then set -- --report '$(REPORT)'; fi; \
	set -x; $(SPRAG) check --suite '$(SUITE)' --measure $(EFFORT) --against baseline "$$@"

.PHONY: help bench-save-baseline bench-compare
