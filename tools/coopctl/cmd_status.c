/* coopctl status: how the server is, on one screen. */
#include "coopctl/client.h"
#include "coopctl/print.h"

static const struct print_column fields[] = {
	{ "State", "state", PRINT_STATE },
	{ "Store", "store", PRINT_STATE },
	{ "Version", "version", PRINT_TEXT },
	{ "Started", "started_at", PRINT_TIME },
	{ "Running for", "uptime_s", PRINT_SECONDS },
	{ "Production", "production", PRINT_YES },
	{ "Switched off", "parts_off", PRINT_TEXT },
	{ "Certificate from", "certificate.from_at", PRINT_TIME },
	{ "Certificate until", "certificate.until_at", PRINT_TIME },
	{ "Drain since", "drain.since_at", PRINT_TIME },
	{ "Drain until", "drain.deadline_at", PRINT_TIME },
	{ 0 },
};

static const struct print_column counts[] = {
	{ "Games", "counts.games", PRINT_NUMBER },
	{ "  hosts there", "counts.hosts", PRINT_NUMBER },
	{ "  friends", "counts.friends", PRINT_NUMBER },
	{ "Players known", "counts.players", PRINT_NUMBER },
	{ "Campaigns", "counts.campaigns", PRINT_NUMBER },
	{ "Lobbies", "counts.lobbies", PRINT_NUMBER },
	{ "Signaling peers", "counts.signal", PRINT_NUMBER },
	{ "Rooms", "counts.rooms", PRINT_NUMBER },
	{ "  players", "counts.room_players", PRINT_NUMBER },
	{ "Boards", "counts.boards", PRINT_NUMBER },
	{ "P2P sessions", "counts.p2p_sessions", PRINT_NUMBER },
	{ "P2P rooms", "counts.p2p_rooms", PRINT_NUMBER },
	{ "Bans", "counts.bans", PRINT_NUMBER },
	{ 0 },
};

static const struct print_column disk[] = {
	{ "Free on disk", "disk.free_bytes", PRINT_BYTES },
	{ "Checkpoints", "disk.blob_bytes", PRINT_BYTES },
	{ "Database", "disk.database_bytes", PRINT_BYTES },
	{ "  WAL", "disk.wal_bytes", PRINT_BYTES },
	{ "Quota used", "quota.used_bytes", PRINT_BYTES },
	{ "  of", "quota.max_bytes", PRINT_BYTES },
	{ 0 },
};

static const struct print_column listeners[] = {
	{ "PART", "part", PRINT_TEXT },
	{ "ADDRESS", "address", PRINT_TEXT },
	{ 0 },
};

/* The names of the parts that are switched off, as a text among the others; nothing when all are on. */
static void note_parts_off(json_t *status)
{
	json_t       *off = json_array();
	const char   *name;
	const json_t *on;

	json_object_foreach(json_object_get(status, "parts"), name, on)
	{
		if (!json_is_true(on))
			json_array_append_new(off, json_string(name));
	}
	if (json_array_size(off) > 0)
		json_object_set(status, "parts_off", off);
	json_decref(off);
}

static enum ctl_exit run_status(struct ctl *c)
{
	json_t       *status = NULL;
	enum ctl_exit e      = client_get(&status, c, "/status");

	if (e != CTL_OK)
		return e;
	if (c->json) {
		print_json(stdout, status);
	} else {
		note_parts_off(status);
		print_fields(c, stdout, status, fields);
		print_heading(c, stdout, "How many");
		print_fields(c, stdout, status, counts);
		print_heading(c, stdout, "Space");
		print_fields(c, stdout, status, disk);
		print_heading(c, stdout, "Listeners");
		print_table(c, stdout, json_object_get(status, "listeners"), listeners);
	}
	json_decref(status);
	return CTL_OK;
}

static const struct ctl_command commands[] = {
	{ "", "", "show how the server is: state, numbers of everything, space, listeners", NULL, NULL,
	  "coopctl status\ncoopctl status --json | jq .counts.friends", run_status },
	{ 0 },
};
const struct ctl_group ctl_status = { "status", "how the server is, on one screen", commands };
