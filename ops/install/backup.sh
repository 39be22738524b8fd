#!/bin/sh
# Makes a backup in a folder of its own under the one given, reads all of it back, and removes those that are older than KEEP_DAYS.
#   backup.sh <folder> [--only signer]     what follows the folder goes to "quittance backup"
set -eu
under=${1:?name the folder for backups}
shift
keep_days=${KEEP_DAYS:-14}
node=${NODE:-/usr/bin/node}
program=$(dirname "$0")/../../bin/quittance.mjs
made=$under/$(date -u +%Y-%m-%dT%H%M%SZ)
"$node" "$program" backup --to "$made" "$@"
"$node" "$program" backup verify "$made"
# Only folders that are whole backups, and never the one just made.
find "$under" -mindepth 2 -maxdepth 2 -name backup.json -mtime "+$keep_days" ! -path "$made/*" -printf '%h\0' | xargs -0 -r rm -rf --
