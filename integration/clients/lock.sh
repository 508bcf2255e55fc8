# A lock with a fence, for bash: redis-cli, curl and the scripts of lockclient.
# Source it with REDIS (host:port; a password in REDISCLI_AUTH), FENCE (http://
# host:port) and SCRIPTS (where the .lua files are). The resource is an URL path
# without percent escapes. lockclient/CONTRACT.md explains each step.
TTL=${TTL:-15000} # ms
lua() { timeout "$((TTL / 4))e-3" redis-cli -h "${REDIS%:*}" -p "${REDIS##*:}" --raw EVAL "$(<"$SCRIPTS/$1.lua")" "${@:2}"; }
now() { local s; read -r s _ </proc/uptime; echo "${s/./}0"; } # ms; sleep and clock changes do not stop it
extend() { echo $((sent + TTL - TTL / 100 - 12)) >"$lease.new" && mv "$lease.new" "$lease"; } # 10 ms: now's grain

lock() { # RESOURCE: returns 0 when it is held and earlier holders are cut off
    resource=$1 key="{fencegate}:lock:$1" renewal= lease=$(mktemp) owner=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    local got answer
    while sent=$(now); mapfile -t got < <(lua acquire 2 "$key" '{fencegate}:token' "$owner" "$TTL" 0 time); [[ ${got[0]} == held ]]; do
        sleep ".$((RANDOM % 9 + 1))"
    done
    [[ ${got[0]} == ok ]] || { unlock; return 1; } # also without an answer: it may have been taken
    token=${got[1]} && extend && renew </dev/null >/dev/null 2>&1 &&
        answer=$(curl -sS -f -m 60 --retry 9 --retry-max-time 60 -H 'Content-Type: application/json' "$FENCE/.well-known/fencegate/claims" \
            -d "{\"resource\":\"$resource\",\"token\":\"$token\",\"owner\":\"$owner\",\"client\":\"bash/$$\"}") &&
        answer=${answer//[[:space:]]/} && [[ $answer == *"[{\"resource\":\"$resource\","*"}]"*"\"token\":\"$token\""* ]] || { unlock; return 1; }
}
renew() { # in the background, for as long as this shell lives
    local pause=$((TTL / 3)) got
    while sleep "${pause}e-3" && held && kill -0 $$; do
        sent=$(now) pause=100 got=$(lua renew 1 "$key" "$owner" "$TTL") || :
        case $got in ok*) extend; pause=$((TTL / 3)) ;; missing* | other*) echo 0 >"$lease"; return ;; esac
    done &
    renewal=$!
}
held() { [[ $(now) -lt $(<"$lease") ]]; }
request() { # CURL-ARGUMENTS…: prints the status, and the fence's reason if it refused
    curl -sS -o /dev/null -w '%{http_code} %header{x-fencing-reason}\n' -H "X-Fencing-Token: $token" -H "X-Fencing-Owner: $owner" "$@" "$FENCE$resource"
}
write() { held && request -T "$1"; } # FILE: sends nothing once the lease is over
unlock() {
    [[ -z $renewal ]] || { kill "$renewal" || :; wait "$renewal" || :; } 2>/dev/null
    lua release 1 "$key" "$owner" "{fencegate}:free:$resource" >/dev/null || :; rm -f "$lease" "$lease.new"
}
