#!/usr/bin/env bash
# Runs three linters over the workflows, ours and those that `sprag init` writes, one over all shell scripts, and the schemas of
# GitLab and Buildkite over examples/ci.
# Usage: scripts/lint-workflows.sh PROGRAM
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "$1")

tools=$(scripts/workflow-tools.sh)
export PATH="$tools/bin:$PATH" # actionlint looks for shellcheck there.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git init --quiet "$work/theirs"
printf '[suites.own]\nkind = "command"\ncommand = ["./bench"]\n' >"$work/theirs/sprag.toml"
"$program" -C "$work/theirs" init --ci github-full --download-from owner/name --sha256 "$(printf '%064d' 0)" >/dev/null
git init --quiet "$work/broken"
mkdir -p "$work/broken/.github/workflows"
cat >"$work/broken/.github/workflows/broken.yml" <<'END'
on: pull_request_target
jobs:
  broken:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@v7
      - run: echo ${{ github.head_ref }} $unquoted
END

audit() { zizmor --offline --persona=auditor --no-progress --quiet "$1"; }
lint() { (cd "$1" && actionlint); }

for place in . "$work/theirs"; do
  audit "$place"
  lint "$place"
done
# The linters do find what is wrong in a broken workflow.
{ audit "$work/broken" || true; lint "$work/broken" || true; } >"$work/findings" 2>&1
for finding in dangerous-triggers unpinned-uses template-injection artipacked concurrency-limits excessive-permissions SC2086; do
  grep -q "$finding" "$work/findings" || { echo "no linter finds $finding in a broken workflow" >&2; exit 1; }
done

# What is for other systems follows their schemas, and a broken one does not.
for system in gitlab-ci buildkite; do
  follows() { check-jsonschema --builtin-schema "vendor.$system" "$1" >/dev/null; }
  follows "$(ls "examples/ci/$system"*.yml)"
  printf 'steps: [{ concurrency: x }]\nperf: { script: { a: 1 } }\n' >"$work/broken.yml"
  ! follows "$work/broken.yml" || { echo "the schema of $system takes anything" >&2; exit 1; }
done

mapfile -t scripts < <(git grep -lIE '^#!(/usr/bin/env bash|/bin/(ba)?sh)' -- . ':!*.rs' ':!*.md' ':!*.py' ':!*.txt')
shellcheck "${scripts[@]}"
echo "$(git ls-files .github/workflows | wc -l) workflows, as many of sprag init, $(printf '%s\n' "${scripts[@]}" | wc -l) scripts: clean"
