#!/usr/bin/env bash
# Runs the two-minute tour of README.md as it stands there: its commands in order, and its C program
# on the emulated driver in place of libcuda.
#
#   readme_tour.sh STITCHC EMULATED_DRIVER CUDA_INCLUDE_DIR
set -euo pipefail
stitchc=$1 driver=$2 cuda_include=$3
root=$(cd "$(dirname "$0")/../.." && pwd)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
ln -s "$root/models" models
mkdir lib
ln -s "$driver" lib/libcuda.so

export PATH="$(dirname "$stitchc"):$PATH"
export CPATH=$cuda_include LIBRARY_PATH=$folder/lib
export LD_LIBRARY_PATH=$(dirname "$driver") STITCH_CUDA_DRIVER=$driver

# The blocks of one language in the section, one after another.
blocks() {
  sed -n '/^## Two-minute tour/,/^## Support/p' "$root/README.md" |
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" | sed '/^```/d'
}

blocks c >tour.c
blocks sh >tour.sh
[ -s tour.c ] && [ -s tour.sh ] || { echo "README.md has no tour" >&2; exit 1; }
cat tour.sh
bash -euo pipefail tour.sh
