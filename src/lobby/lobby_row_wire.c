/*
 * One row of the list. The age stands last, so that the rest can be kept as text until something in it changes.
 */
#include "lobby/lobby_wire.h"

#include "base/hex.h"
#include "base/text.h"

/* How players reach the host, as far as he knows. */
static const char *link_of(const struct lobby_row *row)
{
	if (row->is_direct)
		return "direct";
	if (row->links.relayed > 0)
		return "relay";
	if (row->links.direct > 0)
		return "direct";
	return row->links.lan > 0 ? "lan" : "";
}

static struct json *links_of(const struct lobby_row *row)
{
	struct json *j = json_object_new();

	if (!j)
		return NULL;
	json_put_int(j, "relayed", row->links.relayed);
	json_put_int(j, "direct", row->links.direct);
	json_put_int(j, "lan", row->links.lan);
	return j;
}

static void put_row(struct json *j, const struct lobby_row *row)
{
	char id[2 * LOBBY_ID_BYTES + 1];

	hex_encode(id, row->id, LOBBY_ID_BYTES);
	json_put_text(j, "lobbyId", id);
	json_put_text(j, "name", row->name);
	json_put_text(j, "version", row->version);
	json_put_text(j, "game", row->game);
	json_put_text(j, "world", row->world);
	json_put_int(j, "proto", row->proto);
	json_put_int(j, "players_cur", row->players);
	json_put_int(j, "players_max", row->players_max);
	json_put_bool(j, "locked", row->locked);
	json_put_text(j, "conn", row->is_direct ? "direct" : "p2p");
	json_put_text(j, "link", link_of(row));
	json_put_json(j, "links", links_of(row));
	json_put_text(j, "build_sha", row->claim.sha);
	json_put_int(j, "build_key", row->claim.key);
	json_put_text(j, "build_sig", row->claim.sig);
	json_put_bool(j, "proved", row->is_proved);
	json_put_int(j, "age", 0);
}

char *lobby_row_text(size_t *len, const struct lobby_row *row)
{
	static const char rest[] = "0}"; /* of the age */
	struct json      *j      = json_object_new();
	char             *text   = NULL;

	if (!j)
		return NULL;
	put_row(j, row);
	text = json_text(j);
	json_free(j);
	if (!text)
		return NULL;
	*len       = text_length(text) - (sizeof(rest) - 1);
	text[*len] = '\0';
	return text;
}
