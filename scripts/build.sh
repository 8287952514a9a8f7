# Sourced by ./run, ./test and ./python.sh: configures and builds a preset. Needs $root, the top of the source tree.

# Compile jobs: one a core, but not more than memory allows at about 1.5 GB a job.
saltus_jobs() {
  local cores memory_kb="" limit jobs
  cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
  if [[ -r /proc/meminfo ]]; then memory_kb=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo); fi
  # Containers see the host's memory in /proc; their own limit stands here.
  if [[ -r /sys/fs/cgroup/memory.max ]]; then
    limit=$(</sys/fs/cgroup/memory.max)
    if [[ $limit =~ ^[0-9]+$ ]] && { [[ -z $memory_kb ]] || ((limit / 1024 < memory_kb)); }; then
      memory_kb=$((limit / 1024))
    fi
  fi
  jobs=$cores
  if [[ -n $memory_kb ]] && ((memory_kb / 1500000 < jobs)); then jobs=$((memory_kb / 1500000)); fi
  echo $((jobs > 0 ? jobs : 1))
}

# saltus_configure PRESET [FOLDER LINE]: runs cmake unless the build directory, build/PRESET or build/FOLDER, is ready for
# this source tree, with LINE in its cache. (Ninja itself runs cmake again when a CMakeLists.txt changes.)
saltus_configure() {
  local preset=$1 build=$root/build/${2:-$1} line=${3:-} options=()
  if [[ -f $build/build.ninja ]] && grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt" 2>/dev/null; then
    if [[ -z $line ]] || grep -qxF "$line" "$build/CMakeCache.txt"; then return 0; fi
  elif [[ -f $build/CMakeCache.txt ]]; then
    # A tree that was moved or half configured: its cache names other folders, start afresh.
    options+=(--fresh)
  fi
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  mkdir -p "$build"
  if ! (cd "$root" && cmake --preset "$preset" "${options[@]}") >"$build/configure.log" 2>&1; then
    cat "$build/configure.log" >&2
    echo "configuring saltus failed; the reason is above (also in $build/configure.log)" >&2
    # What is half done must not pass for done in the next call.
    rm -f "$build/build.ninja"
    return 1
  fi
}

# saltus_lock FOLDER: calls that start together must not build in one folder at the same time. The lock goes with file
# descriptor 9.
saltus_lock() {
  mkdir -p "$1"
  if command -v flock >/dev/null; then
    exec 9>"$1/.run.lock"
    flock 9
  fi
}

# saltus_interruptible CALL COMMAND…: runs the command in a process group of its own and returns its exit code. SIGINT,
# SIGTERM and SIGHUP end the group and the script, with a line that names CALL as what continues, and exit code 130.
# (Bash handles signals after its foreground command, and drops SIGINT when that command exits with a code, as cmake does.)
saltus_interruptible() {
  local call=$1 job="" result=0
  shift
  trap 'saltus_interrupt "$call" "$job"' INT TERM HUP
  set -m
  "$@" </dev/null &
  job=$!
  set +m
  wait "$job" || result=$?
  trap - INT TERM HUP
  return "$result"
}

saltus_interrupt() {
  trap 'exit 130' INT TERM HUP  # a second one does not wait
  if [[ -n $2 ]]; then
    kill -TERM -- "-$2" 2>/dev/null || true
    wait "$2" 2>/dev/null || true
    while kill -0 -- "-$2" 2>/dev/null; do sleep 0.05; done  # Ninja removes what is half written
  fi
  echo "building saltus was interrupted; the next $1 continues where it stopped" >&2
  exit 130
}
