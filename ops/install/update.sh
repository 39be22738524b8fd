#!/bin/sh
# Puts a release in place, or goes back to the one before: docs/install.md, "Update and go back".
#   update.sh <folder of a release>     what "npm run build" makes, or an unpacked archive of it
#   update.sh --back                    the release that ran before
set -eu

root=${QUITTANCE_ROOT:-/opt/quittance}
settings=${QUITTANCE_SETTINGS:-/etc/quittance/environment}
user=${QUITTANCE_USER:-quittance}
units=${QUITTANCE_UNITS:-quittance-signer quittance}
ready_url=${QUITTANCE_READY_URL:-http://127.0.0.1:9464/readyz}
# A release that derives look-ups anew is ready when they are built.
wait_seconds=${QUITTANCE_WAIT_SECONDS:-600}
node=${NODE:-/usr/bin/node}

fail() {
    echo "update: $1" >&2
    exit 1
}

# The last part of the path that a link names; empty where there is none.
release_of() {
    if [ -L "$root/$1" ]; then basename "$(readlink "$root/$1")"; fi
}

# In one step, so that no start finds half a link.
point() {
    ln -s "releases/$2" "$root/$1.new"
    mv -T "$root/$1.new" "$root/$1"
}

as_service() {
    if [ "$(id -un)" = "$user" ]; then "$@"; else runuser -u "$user" -- "$@"; fi
}

restart() {
    for unit in $units; do systemctl restart "$unit"; done
}

is_ready() {
    waited=0
    while [ "$waited" -lt "$wait_seconds" ]; do
        if "$node" -e 'fetch(process.argv[1]).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))' "$ready_url"; then return 0; fi
        sleep 1
        waited=$((waited + 1))
    done
    return 1
}

# Runs the release, or the one before it when it does not become ready.
switch_to() {
    before=$(release_of current)
    point current "$1"
    restart
    if is_ready; then
        if [ -n "$before" ] && [ "$before" != "$1" ]; then point previous "$before"; fi
        echo "update: $1 runs"
        return
    fi
    if [ -z "$before" ] || [ "$before" = "$1" ]; then fail "$1 is not ready after $wait_seconds s: journalctl --namespace=quittance says why"; fi
    point current "$before"
    restart
    is_ready || fail "neither $1 nor $before became ready: journalctl --namespace=quittance says why"
    fail "$1 was not ready after $wait_seconds s; $before runs again"
}

[ "$#" -eq 1 ] || fail 'name the folder of a release, or --back'
[ -r "$settings" ] || fail "$settings cannot be read"
"$node" -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 24 ? 0 : 1)' || fail "$node is older than Node 24"

if [ "$1" = --back ]; then
    previous=$(release_of previous)
    [ -n "$previous" ] || fail 'no release ran before this one'
    switch_to "$previous"
    exit 0
fi

source=$(cd "$1" 2>/dev/null && pwd) || fail "$1 is no folder"
for name in package.json bin/quittance.mjs lib/main.mjs; do
    [ -f "$source/$name" ] || fail "$source is no release: it has no $name. In a checkout run \"npm ci && npm run build\" and name its folder dist"
done
version=$("$node" -p 'JSON.parse(fs.readFileSync(process.argv[1])).version' "$source/package.json")
release=$version-$(date -u +%Y%m%dT%H%M%SZ)
folder=$root/releases/$release
mkdir -p "$root/releases" && mkdir "$folder"
# Of its own to the last file, root's, and what runs cannot change it.
(cd "$source" && tar -cf - .) | tar -xf - -C "$folder" --no-same-owner || { rm -rf "$folder"; fail 'the release could not be copied; nothing was changed'; }
chmod -R go-w "$folder"
# With the settings of the service and before anything stops.
as_service "$node" --env-file="$settings" "$folder/bin/quittance.mjs" doctor || [ "${QUITTANCE_DESPITE_FAULTS:-no}" = yes ] ||
    { rm -rf "$folder"; fail 'doctor found a fault; nothing was changed (QUITTANCE_DESPITE_FAULTS=yes goes on)'; }
switch_to "$release"
