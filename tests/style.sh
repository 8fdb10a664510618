#!/usr/bin/env bash
# clang-format on every C++ file that git knows, clang-tidy on those that changed.
#   PYASC_TIDY_BASE=REV   what counts as changed is everything since REV
#                         (default: since the upstream's main, else since the last commit)
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(git ls-files '*.cc' '*.h')
if ! clang-format-19 --dry-run --Werror "${files[@]}" 2>style.log; then
  grep -E 'error:' style.log | cut -d: -f1 | sort -u | head -20 >&2
  rm -f style.log
  echo "style.sh: run clang-format-19 -i on these files" >&2
  exit 1
fi
rm -f style.log
echo "clang-format: ${#files[@]} files"

base=${PYASC_TIDY_BASE:-}
if [ -z "$base" ]; then
  base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=HEAD~1; fi
fi
git rev-parse -q --verify "$base^{commit}" >/dev/null || exit 0
mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" -- '*.cc')
[ ${#changed[@]} -gt 0 ] || { echo "clang-tidy: no C++ file changed since $base"; exit 0; }
echo "clang-tidy: ${#changed[@]} files changed since $base"
printf '%s\0' "${changed[@]}" |
  xargs -0 -P "$(nproc)" -n 1 clang-tidy-19 --quiet -p build/release 2>/dev/null
