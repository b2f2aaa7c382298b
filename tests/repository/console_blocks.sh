#!/usr/bin/env bash
# Runs the commands of a document's "console" blocks, in order and in one folder, and looks in what
# each prints for the lines that the document shows behind it.
#
#   console_blocks.sh STITCHC DOCUMENT
set -euo pipefail
stitchc=$1 document=$2
root=$(cd "$(dirname "$0")/../.." && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$root/models" models
export PATH="$(dirname "$stitchc"):$PATH"

commands=0 missing=0
while IFS= read -r line; do
  if [[ $line == '$ '* ]]; then
    echo "${line}"
    bash -euo pipefail -c "${line#\$ }" >printed 2>&1 || { cat printed >&2; exit 1; }
    commands=$((commands + 1))
  elif ! grep -qxF -- "$line" <(sed 's/[[:space:]]*$//' printed); then
    echo "not printed any more: $line" >&2
    missing=$((missing + 1))
  fi
done < <(sed -n '/^```console$/,/^```$/p' "$document" | sed '/^```/d')

[ "$commands" -gt 0 ] || { echo "$document has no commands" >&2; exit 1; }
echo "$commands commands, $missing lines missing"
[ "$missing" -eq 0 ]
