#include "cloud/cloud_put.h"

#include "base/metric.h"

#include <assert.h>
#include <string.h>

enum err cloud_put_begin(struct cloud_put *p, struct store *s, const uint8_t *campaign, int64_t bytes_max)
{
	p->is_container = campaign != NULL;
	p->has_text     = false;
	p->bytes        = 0;
	p->bytes_max    = bytes_max;
	if (campaign) {
		memcpy(p->campaign, campaign, sizeof(p->campaign));
		container_init(&p->container, 0);
	}
	return blob_writer_open(&p->blob, s);
}

static bool is_of_campaign(const struct cloud_put *p)
{
	return p->text.has_campaign && memcmp(p->text.campaign, p->campaign, sizeof(p->campaign)) == 0;
}

/* The wrong campaign is seen before the savegame is written. */
static enum err look_at(struct cloud_put *p, const void *bytes, size_t len)
{
	enum err       e = container_add(&p->container, bytes, len);
	size_t         text_len;
	const uint8_t *text;

	if (e != ERR_OK || p->has_text)
		return e;
	text = container_text_bytes(&text_len, &p->container);
	if (!text)
		return ERR_OK;
	p->has_text = true;
	container_parse_text(&p->text, text, text_len);
	return is_of_campaign(p) ? ERR_OK : ERR_CONTENT;
}

enum err cloud_put_add(struct cloud_put *p, const void *bytes, size_t len)
{
	if ((uint64_t)len > (uint64_t)(p->bytes_max - p->bytes))
		return ERR_CONTENT;
	p->bytes += (int64_t)len;
	metric_add(M_CLOUD_BYTES_IN, (int64_t)len);

	enum err e = p->is_container ? look_at(p, bytes, len) : ERR_OK;

	return e == ERR_OK ? blob_writer_put(&p->blob, bytes, len) : e;
}

static void show(struct checkpoint_meta *meta, const struct container_text *t)
{
	static_assert(CHECKPOINT_TEXT == CONTAINER_SHOWN, "one size of shown text");
	static_assert(CAMPAIGN_NAMED_MAX == CONTAINER_MEMBERS_MAX, "one number of named players");

	meta->is_container = true;
	meta->stamp        = t->stamp;
	memcpy(meta->name, t->name, sizeof(meta->name));
	memcpy(meta->level, t->level, sizeof(meta->level));
	memcpy(meta->checkpoint, t->checkpoint, sizeof(meta->checkpoint));
	memcpy(meta->hostname, t->hostname, sizeof(meta->hostname));
}

enum err cloud_put_end(struct cloud_put *p, struct checkpoint_meta *meta)
{
	if (p->is_container) {
		enum err e = container_end(&p->text, &p->container);

		if (e != ERR_OK || !is_of_campaign(p))
			return ERR_CONTENT;
		show(meta, &p->text);
	}
	return blob_writer_finish(&p->blob);
}

void cloud_put_fini(struct cloud_put *p)
{
	blob_writer_fini(&p->blob);
}
