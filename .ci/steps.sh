# Sourced by .ci/run and .ci/nightly: steps that all run, a table of their times, and the exit code at the end.
export CI=true  # what is missing is a failure here, not a reason to skip
table=()
failed=()

# step NAME COMMAND…: runs it, whatever happened before.
step() {
  local name=$1 begin=$SECONDS cpu result=passed
  shift
  echo "--- $name"
  times >"$times_file"
  cpu=$(children)
  "$@" || result=failed
  times >"$times_file"
  cpu=$(($(children) - cpu))
  if [[ $result == failed ]]; then failed+=("$name"); fi
  table+=("$(printf '%-34s %-7s %7d %7d' "$name" "$result" "$((SECONDS - begin))" "$cpu")")
  echo "--- $name: $result"
}

times_file=$(mktemp)
trap 'rm -f "$times_file"' EXIT

# Seconds of all children, from the second line of what `times` wrote.
children() {
  awk 'NR == 2 {
    for (k = 1; k <= 2; ++k) { split($k, part, /[ms]/); sum += 60 * part[1] + part[2] }
    printf "%d", sum
  }' "$times_file"
}

# The table, and 1 if a step has failed.
finish() {
  printf '\n%-34s %-7s %7s %7s\n' step result "wall s" "CPU s"
  printf '%s\n' "${table[@]}"
  echo "$((SECONDS / 60)) minutes"
  if ((${#failed[@]})); then
    local list
    list=$(printf ', %s' "${failed[@]}")
    echo "failed: ${list:2}" >&2
    return 1
  fi
  echo "all checks passed"
}

# sanitized_core MODELS: the reader, the solver and the report under AddressSanitizer and UndefinedBehaviourSanitizer:
# all examples, damaged texts, and this number of random models. Leaks are looked for at night: not every container lets
# their search trace the program.
sanitized_core() {
  local build=$root/build/sanitized-core folder model code result=0
  local -x ASAN_OPTIONS=detect_leaks=0:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1:exitcode=99
  saltus_configure sanitized-core || return
  cmake --build "$build" -j "$(saltus_jobs)" --target saltus_run saltus_fuzz_modelica saltus_tests_random || return
  folder=$(mktemp -d)
  for model in examples/gallery/*.mo examples/models/*.mo; do
    code=0
    "$build/saltus-run" run "$model" --quiet --no-plot --html "$folder/report.html" --json "$folder/run.json" \
      --csv "$folder/run.csv" || code=$?
    if ((code > 1)); then  # 1: the run ended early, as some do
      echo "$model ended with exit code $code"
      result=1
    fi
  done
  rm -rf "$folder"
  find "$build/tests" -name saltus_fuzz_modelica -exec {} 3000 1 \; || result=1
  python3 scripts/random_models.py "$build/tests/random/saltus_tests_random" --models "$1" --jobs "$(saltus_jobs)" ||
    result=1
  return "$result"
}
