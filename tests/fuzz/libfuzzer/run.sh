#!/usr/bin/env bash
# Fuzzes one target with AddressSanitizer and UndefinedBehaviorSanitizer for some time.
#   run.sh lexer|parser|sema [SECONDS]   default 60
#   run.sh --merge lexer|parser|sema     adds to the corpus what covers more, in small inputs
# What was found is in build/asan/fuzz/found-*; the corpus that grows in build/asan/fuzz/corpus-*.
# PYASC_FUZZ_MAX_LENGTH sets the length of an input in bytes (default 2000).
set -euo pipefail
cd "$(dirname "$0")/../../.."

merge=0
[ "${1:-}" = --merge ] && { merge=1; shift; }
target=${1:-}
seconds=${2:-60}
max_length=${PYASC_FUZZ_MAX_LENGTH:-2000}
case $target in
lexer | parser) seeds=syntax ;;
sema) seeds=sema ;;
*) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
here=tests/fuzz/libfuzzer
program=build/asan/fuzz/${target}_fuzz
[ -x "$program" ] || { echo "build it: cmake --preset asan && ninja -C build/asan ${target}_fuzz" >&2; exit 2; }
grown=build/asan/fuzz/corpus-$target
mkdir -p "$grown"

# libMLIR is not instrumented: what it puts into a container is not known as the container's. A
# smaller quarantine keeps the memory that is counted near to what the code uses.
export ASAN_OPTIONS=detect_container_overflow=0:quarantine_size_mb=16:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1

if [ $merge -eq 1 ]; then
  exec "$program" -merge=1 -max_len=300 "$here/corpus/$seeds" "$grown"
fi
# The snippets of the conformance test are seeds for the grammar, the examples for all.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp docs/examples/*.py "$work"
if [ "$seeds" = syntax ]; then
  csplit -s -z -n 3 -f "$work/snippet" tests/conformance/syntax_snippets.txt '/^---$/' '{*}'
  csplit -s -z -n 3 -f "$work/case312" tests/conformance/syntax_312.txt '/^---$/' '{*}'
fi
# 5 s and 256 MiB are promised for ordinary builds; sanitizers cost some five times as much.
nice -n 19 "$program" "$grown" "$here/corpus/$seeds" "$work" \
  -dict="$here/python.dict" -max_total_time="$seconds" -max_len="$max_length" -timeout=25 \
  -rss_limit_mb=1280 -malloc_limit_mb=256 -use_value_profile=0 -print_final_stats=1 \
  -artifact_prefix=build/asan/fuzz/found-
