#!/usr/bin/env bash
# filecheck.sh OPT FILECHECK FILE: runs every `// RUN:` line of FILE, with `pyasc-opt`, `FileCheck`
# and `%s` replaced by the given programs and file. A file without a RUN line fails.
set -euo pipefail
opt=$1 filecheck=$2 file=$3
runs=0
while IFS= read -r line; do
  command=${line#*RUN:}
  command=${command//pyasc-opt/\"\$opt\"}
  command=${command//FileCheck/\"\$filecheck\"}
  command=${command//%s/\"\$file\"}
  runs=$((runs + 1))
  eval "$command" || { echo "failed: $line"; exit 1; }
done < <(grep -E '^// RUN:' "$file")
[ "$runs" -gt 0 ] || { echo "$file has no RUN line"; exit 1; }
