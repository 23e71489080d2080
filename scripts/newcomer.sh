#!/usr/bin/env bash
# Live a newcomer's first hour in this checkout, with an empty home: the first command of the README, a new plugin of
# each kind as generated, with likely names, from small data where it takes data, and what looks at all of them. One
# line for each.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -z "$(git status --porcelain)" ] || { echo "Commit your changes first: this makes plugins and removes them." >&2; exit 2; }
unset PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE
place=$(mktemp -d)
trap 'rm -rf "$place"; git clean --quiet --force -d -- vision' EXIT
mkdir "$place/home" "$place/tables"
export HOME="$place/home"
failed=0

step() { # what it is, then the command
  local started=$SECONDS
  if "${@:2}" >"$place/log" 2>&1; then
    echo "passed  $1 ($((SECONDS - started)) s)"
  else
    echo "FAILED  $1: ${*:2}" && cat "$place/log" && failed=1
  fi
}
run() { .venv/bin/nox --session "$1" -- "${@:2}"; }
tables() { # 20 stimuli, 6 neurons, 4 repetitions
  .nox/workspace/bin/python - "$place/tables" <<'PYTHON'
import csv, random, sys
from pathlib import Path
from PIL import Image

folder, draw = Path(sys.argv[1]), random.Random(0)
names = [f"picture_{number}.png" for number in range(20)]
gains = [[draw.gauss(0, 1) for _ in names] for _ in range(6)]
for name in names:
    Image.effect_noise((32, 32), 80).convert("RGB").save(folder / name)
with (folder / "stimuli.csv").open("w", newline="") as stream:
    csv.writer(stream).writerows([["stimulus", "file"], *([name.removesuffix(".png"), name] for name in names)])
with (folder / "responses.csv").open("w", newline="") as stream:
    rows = [
        [name.removesuffix(".png"), f"n{neuron}", repetition, gains[neuron][place] + draw.gauss(0, 0.3)]
        for place, name in enumerate(names) for neuron in range(6) for repetition in range(4)
    ]
    csv.writer(stream).writerows([["stimulus", "neuron", "repetition", "value"], *rows])
PYTHON
}

asks_only() { # check fails, and finds nothing but what a newcomer is to fill in
  run check "$1" >"$place/check" 2>&1 && return 1
  cat "$place/check"
  grep --quiet "placeholder: " "$place/check" && ! grep -E '^  .*: [a-z-]+: ' "$place/check" | grep -v "placeholder: "
}

plugins_only() { # the library's own checks have nothing to check
  run plan >"$place/plan" 2>&1 || return 1
  cat "$place/plan"
  grep --quiet "plugins only: " "$place/plan"
}

step "the first command of the README" bash -c "$(grep --max-count 1 '^python3 -m venv' README.md)"
step "tables of 20 stimuli and 6 neurons" tables
small=(--from-csv "$place/tables/stimuli.csv" "$place/tables/responses.csv" --region IT)
step "new data and benchmark of them" run new_plugin data benchmark Newcomer2024 "${small[@]}"
step "new metric" run new_plugin metric correlation
step "new model" run new_plugin model mymodel
step "new simulated data and benchmark" run new_plugin data benchmark Median2030
for folder in vision/brainscore_vision/*/{correlation,mymodel,median2030}; do # a requirement that nothing else has
  [ ! -d "$folder" ] || echo "humanize==4.12.3" >>"$folder/requirements.txt"
done
step "new behavioural data and benchmark" run new_plugin data benchmark NewcomerTask2024 --task label
for name in newcomer2024 correlation mymodel median2030 newcomertask2024; do
  step "its tests as generated: $name" run test_plugin "$name"
  step "check asks for no more than facts: $name" asks_only "$name"
done
step "plan says: plugins only" plugins_only
every=(core/tests/test_repository.py core/tests/test_architecture.py vision/tests/test_documents.py)
step "what looks at every plugin" run tests -m "not slow" "${every[@]}"
step "linters" run lint
step "leaderboard build" run leaderboard build --to "$place/site"
exit "$failed"
