# For the scripts of `make bench`: the machine's processors, and one server at a time in a folder of its own.
# shellcheck shell=bash

say() { printf '%s\n' "$*" >&2; }

# --- Machine --------------------------------------------------------------------------------------------------------

cpu_list() { taskset -pc $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= $NF; i++) print i }'; }

mapfile -t cpus < <(cpu_list)
# shellcheck disable=SC2034 # for those who read this file
server_cpu=${cpus[0]} load_cpu=${cpus[1]:-${cpus[0]}}
[ "${#cpus[@]}" -gt 1 ] || say "There is one processor only: server and generator share it, and the figures say little."

read -r busy _ </proc/loadavg
[ "${busy%.*}" -eq 0 ] || say "Other programs keep the processors busy (load $busy): the figures will say less."

ulimit -n "$(ulimit -Hn)"

# --- Servers --------------------------------------------------------------------------------------------------------

server_pid=
folder=$(mktemp -d "${TMPDIR:-/tmp}/coopd-bench.XXXXXX")

stop_server() {
	[ -n "$server_pid" ] || return 0
	local tries=200
	kill -TERM "$server_pid" 2>/dev/null
	while kill -0 "$server_pid" 2>/dev/null && [ $((tries--)) -gt 0 ]; do
		sleep 0.05
	done
	if [ "$tries" -le 0 ]; then
		say "  The server does not stop within 10 s and is killed."
		kill -KILL "$server_pid" 2>/dev/null
	fi
	wait "$server_pid" 2>/dev/null
	server_pid=
}

clean_up() {
	stop_server
	rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# All servers say where they listen, each in its own words.
port_in_log() { sed -n "/$1/s/.*listens.*127\\.0\\.0\\.1:\\([0-9][0-9]*\\).*/\\1/p" "$folder/log" | head -n 1; }

# start_server PART COMMAND...: sets server_pid and the port of this part. Each start has an empty data folder.
# With server_cpus set, on those processors only.
start_server() {
	local tries=200 part=$1 command
	shift
	command=$(basename "$1")
	rm -rf "$folder/data"
	: >"$folder/log"
	(cd "$folder" && exec taskset -c "${server_cpus:-$server_cpu}" "$@") >"$folder/log" 2>&1 &
	server_pid=$!
	until port=$(port_in_log "$part") && [ -n "$port" ]; do
		if [ $((tries--)) -eq 0 ] || ! kill -0 "$server_pid" 2>/dev/null; then
			say "  $command does not start: $(tail -n 3 "$folder/log")"
			return 1
		fi
		sleep 0.05
	done
}
