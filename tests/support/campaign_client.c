#include "support/campaign_client.h"

#include "base/auto.h"
#include "support/dial.h"
#include "support/rest_client.h"
#include "support/tunnel_message.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *player_hex(char out[PLAYER_HEX], const char *key_name)
{
	uint8_t id[ID_BYTES];

	id_of(id, key_name);
	for (size_t i = 0; i < sizeof(id); i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
	return out;
}

void name_player(char *lines, size_t cap, const char *key_name)
{
	char   hex[PLAYER_HEX];
	size_t len = strlen(lines);

	cr_assert_lt(snprintf(lines + len, cap - len, "player=id:%s\n", player_hex(hex, key_name)), (int)(cap - len));
}

void campaign_put(const struct server *s, const char *key_name, const char *campaign, const char *lines,
                  size_t save_len)
{
	size_t                              len;
	AUTO(auto_free) char               *bytes = rest_container(&len, campaign, lines, save_len);
	AUTO(rest_freep) struct http_result r     = rest_put(s, key_name, campaign, "", "", bytes, len);

	cr_assert_eq(r.status, 201, "%d %s", r.status, r.body);
}

int64_t campaign_ask(const struct server *s, const char *sql)
{
	char  command[900], line[64] = "";
	FILE *f;

	cr_assert_lt(snprintf(command, sizeof(command), "sqlite3 -readonly '%s/coop.db' \"%s\"", s->data, sql),
	             (int)sizeof(command));
	f = popen(command, "r");
	cr_assert_not_null(f);
	cr_assert_not_null(fgets(line, sizeof(line), f), "%s", sql);
	pclose(f);
	return atoll(line);
}

void campaign_exec(struct server *s, const char *sql)
{
	char  command[200];
	FILE *f;

	server_stop(s);
	snprintf(command, sizeof(command), "sqlite3 -bail '%s/coop.db'", s->data);
	f = popen(command, "w");
	cr_assert_not_null(f);
	fputs(sql, f);
	cr_assert_eq(pclose(f), 0, "%s", sql);
	server_restart(s);
}

void campaign_check_sums(const struct server *s)
{
	static const char holders[] = "SELECT count(*) FROM holders h WHERE "
				      "h.campaigns <> (SELECT count(*) FROM campaigns c WHERE c.owner = h.player AND "
				      "c.trashed_ms IS NULL) OR "
				      "h.bytes <> (SELECT coalesce(sum(bytes), 0) FROM campaigns c WHERE c.owner = "
				      "h.player AND c.trashed_ms IS NULL) "
				      "OR "
				      "h.spare <> (SELECT coalesce(sum(spare), 0) FROM campaigns c WHERE c.owner = "
				      "h.player AND c.trashed_ms IS NULL)";
	static const char totals[] =
		"SELECT count(*) FROM cloud_totals t WHERE "
		"t.campaigns <> (SELECT count(*) FROM campaigns WHERE trashed_ms IS NULL) OR "
		"t.bytes <> (SELECT coalesce(sum(bytes), 0) FROM campaigns WHERE trashed_ms IS NULL) OR "
		"t.trash <> (SELECT coalesce(sum(bytes), 0) FROM campaigns WHERE trashed_ms IS NOT NULL)";

	cr_expect_eq(campaign_ask(s, holders), 0, "a holder's sums");
	cr_expect_eq(campaign_ask(s, totals), 0, "the totals");
	cr_expect_eq(campaign_ask(s,
	                          "SELECT count(*) FROM campaigns c WHERE c.bytes <> (SELECT coalesce(sum(bytes), 0) "
	                          "FROM checkpoints k WHERE k.campaign = c.number)"),
	             0, "a campaign's sum");
}

int campaign_files(const struct server *s, const char *folder)
{
	char           path[200];
	struct dirent *e;
	int            n = 0;

	snprintf(path, sizeof(path), "%s/blobs/%s", s->data, folder);
	DIR *d = opendir(path);

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

void campaign_await_nothing_left(struct server *s)
{
	int64_t until = real_now_ms() + DIAL_PATIENCE_MS;

	while (campaign_files(s, ".tmp") > 0 && real_now_ms() < until)
		real_sleep_ms(10);
	cr_expect_eq(campaign_files(s, ".tmp"), 0);
	server_await_metric(s, "coopd_cloud_reserved_bytes", NULL, 0, DIAL_PATIENCE_MS);
}
