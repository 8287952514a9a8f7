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
