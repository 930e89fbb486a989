/*
 * A download: a few PARTs are read while those before them leave.
 *
 *	work: open, read --> GET_SIZE, PARTs to the queue --> work: read --(queue empty)--> PARTs ... --> END
 *
 * So a slow reader costs one helping in the queue and one that waits for it.
 */
#include "base/auto.h"
#include "cloud/cloud_event.h"
#include "cloud/cloud_get.h"
#include "cloud/vault_conn.h"
#include "os/log.h"

#include <stdlib.h>
#include <string.h>

#define HELPING_MIN   2
#define HELPING_MAX   4 /* of one whose reader was waiting for it */
#define MESSAGE_BYTES (1 + VAULT_PART_BYTES)
#define SPARE_BYTES   1024 /* of a control queue: heads of frames, GET_SIZE, END, a ping */

struct vault_get {
	struct errand         errand;
	struct vault_conn    *conn; /* NULL: it is gone */
	bool                  busy; /* the errand is under way */
	bool                  is_read, is_drained, is_announced;
	enum err              result;
	uint8_t               player[PLAYER_DIGEST_BYTES], campaign[CAMPAIGN_ID_BYTES];
	int64_t               version;
	struct cloud_get     *file; /* NULL: not open yet */
	struct checkpoint_row row;
	uint64_t              at;                    /* what is not read yet begins here */
	size_t                parts_max, part_count; /* of a helping; that are read and not sent */
	size_t                part_len[HELPING_MAX];
	struct ws_buffer     *parts[HELPING_MAX]; /* NULL: sent, or not wanted yet */
};

static struct vault_get *get_of(struct errand *e)
{
	return CONTAINER(e, struct vault_get, errand);
}

/* The end; closing the file is for another thread, too. */

static void run_close(struct errand *e)
{
	cloud_get_free(get_of(e)->file);
}

static void free_get(struct vault_get *g)
{
	for (size_t i = 0; i < HELPING_MAX; i++)
		ws_buffer_free(g->parts[i]);
	free(g);
}

static void on_file_closed(struct errand *e)
{
	free_get(get_of(e));
}

static void end(struct vault_get *g)
{
	if (g->conn)
		g->conn->get = NULL;
	g->conn = NULL;
	if (g->busy)
		return; /* until it is back */
	if (g->file)
		errand_work(&g->errand, run_close, on_file_closed);
	else
		free_get(g);
}

void vault_get_leave(struct vault_conn *c)
{
	if (c->get)
		end(c->get);
}

/* On a thread that may touch files */

static enum err open_file(struct vault_get *g)
{
	struct cloud     *cloud = g->errand.vault->cloud;
	struct cloud_pick pick  = {
		 .campaign = g->campaign, .player = g->player, .version = g->version, .containers_only = true
	};

	return g->file ? ERR_OK : cloud_get_open(&g->file, &g->row, cloud->store, cloud->verified, &pick);
}

static void run_read(struct errand *e)
{
	struct vault_get *g = get_of(e);

	g->part_count = 0;
	g->result     = open_file(g);
	while (g->result == ERR_OK && g->part_count < g->parts_max && g->at < (uint64_t)g->row.bytes) {
		size_t   i     = g->part_count;
		uint8_t *bytes = ws_buffer_bytes(g->parts[i]);

		bytes[0]  = VAULT_PART;
		g->result = cloud_get_read(g->file, &g->part_len[i], g->at, bytes + 1, VAULT_PART_BYTES);
		if (g->result == ERR_OK) {
			g->at += g->part_len[i];
			g->part_count++;
		}
	}
}

/* On the loop */

/* As much as the queue holds, and one at least. */
static size_t helping(const struct vault_conn *c, size_t want)
{
	int64_t room = (c->vault->cloud->conf->limits.ws_control - SPARE_BYTES) / MESSAGE_BYTES;

	return room < 1 ? 1 : (int64_t)want > room ? (size_t)room : want;
}

static void read_more(struct vault_get *g);

static void fail(struct vault_get *g)
{
	struct vault_conn *c    = g->conn;
	enum err           why  = g->result;
	bool               late = g->is_announced; /* a FAULT among the PARTs would not be understood */

	log_debug("vault", ws_conn_id(c->ws), "breaks-off", "error=%s", err_name(why));
	end(g);
	if (late)
		vault_close(c, why == ERR_DAMAGED ? M_VAULT_CLOSED_DAMAGED : M_VAULT_CLOSED_STORE);
	else
		vault_answer_err(c, why);
}

static void finish(struct vault_get *g)
{
	struct vault_conn *c = g->conn;

	/* First, as jobs run in their order: what the player asks for after the END comes after the note, too. */
	vault_note_loaded(c, g->campaign);
	vault_send(c, &(struct vault_msg){ .op = VAULT_END });
	metric_inc(M_CLOUD_SENT);
	cloud_event_loaded(g->campaign, g->row.version, (uint64_t)g->row.bytes, c->digest, CLOUD_BY_VAULT);
	end(g);
	vault_answered(c);
}

static void send_helping(struct vault_get *g)
{
	struct vault_conn *c = g->conn;

	if (!g->is_announced)
		vault_send(c, &(struct vault_msg){ .op = VAULT_GET_SIZE, .size = (uint32_t)g->row.bytes });
	g->is_announced = true;
	for (size_t i = 0; i < g->part_count; i++)
		ws_send_buffer(c->ws, TAKE(g->parts[i]), 1 + g->part_len[i]);
	if (g->at == (uint64_t)g->row.bytes)
		finish(g);
	else
		read_more(g);
}

static void on_read(struct errand *e)
{
	struct vault_get *g = get_of(e);

	g->busy = false;
	if (!g->conn) {
		end(g);
		return;
	}
	g->is_read   = true;
	g->parts_max = helping(g->conn, g->is_drained ? HELPING_MAX : HELPING_MIN);
	if (g->result != ERR_OK)
		fail(g);
	else if (g->is_drained)
		send_helping(g);
}

/* Memory for a helping. False: there is none. */
static bool take_parts(struct vault_get *g)
{
	for (size_t i = 0; i < g->parts_max; i++)
		if (!g->parts[i] && !(g->parts[i] = ws_buffer_take(g->conn->ws, MESSAGE_BYTES)))
			return false;
	return true;
}

/* What is sent lies in the queue, and the next helping is read meanwhile. */
static void read_more(struct vault_get *g)
{
	if (!take_parts(g)) {
		g->result = ERR_NOMEM;
		fail(g);
		return;
	}
	g->busy    = true;
	g->is_read = false;
	if (g->is_announced) {
		g->is_drained = false;
		vault_go_on(g->conn);
	}
	errand_work(&g->errand, run_read, on_read);
}

void vault_get_on_drained(struct vault_conn *c)
{
	struct vault_get *g = c->get;

	g->is_drained = true;
	if (g->is_read)
		send_helping(g);
}

bool vault_get_is_of(const struct vault_get *g, const uint8_t campaign[VAULT_ID_BYTES])
{
	return memcmp(g->campaign, campaign, VAULT_ID_BYTES) == 0;
}

void vault_get_begin(struct vault_conn *c, const struct vault_msg *msg)
{
	struct vault_get *g = calloc(1, sizeof(*g));

	if (!g) {
		vault_answer_err(c, ERR_NOMEM);
		return;
	}
	g->errand.vault = c->vault;
	g->conn         = c;
	g->is_drained   = true; /* nothing is waited for before the first helping */
	g->version      = msg->which == 0 ? 0 : -1;
	g->parts_max    = helping(c, HELPING_MIN);
	memcpy(g->player, c->digest, sizeof(g->player));
	memcpy(g->campaign, msg->campaign, sizeof(g->campaign));
	c->get = g;
	read_more(g);
}
