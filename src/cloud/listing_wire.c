#include "cloud/listing_wire.h"

#include "base/hex.h"
#include "base/text.h"

#define FIELD_CHARS    64
#define FIELD_BYTES    (4 * FIELD_CHARS + 1)
#define LINE_BYTES_MAX (6 * FIELD_BYTES)

void listing_init(struct listing *l)
{
	l->is_cut     = false;
	l->message[0] = VAULT_LISTING;
	l->len        = 1;
}

static void clean(char out[FIELD_BYTES], const char *text)
{
	text_clean(out, FIELD_BYTES, text, text_length(text), FIELD_CHARS);
}

static int64_t shown_stamp(int64_t stamp)
{
	return stamp < 0 ? 0 : stamp > UINT32_MAX ? UINT32_MAX : stamp;
}

static void write_line(char out[LINE_BYTES_MAX], const struct listing_line *line)
{
	char id[2 * VAULT_ID_BYTES + 1];
	char level[FIELD_BYTES], checkpoint[FIELD_BYTES], name[FIELD_BYTES], hostname[FIELD_BYTES];

	hex_encode(id, line->campaign, VAULT_ID_BYTES);
	clean(level, line->level);
	clean(checkpoint, line->checkpoint);
	clean(name, line->name);
	clean(hostname, line->hostname);
	text_format(out, LINE_BYTES_MAX, "%s\t%s\t%lld\t%s\t%s\t%s\t%s\t%d", id, line->is_owner ? "own" : "member",
	            (long long)shown_stamp(line->stamp), level, checkpoint, name, hostname, line->has_previous);
}

bool listing_add(struct listing *l, const struct listing_line *line)
{
	char      text[LINE_BYTES_MAX];
	struct wr w = wr_over(l->message + l->len, sizeof(l->message) - l->len);

	write_line(text, line);
	if (l->len > 1)
		wr_u8(&w, '\n');
	wr_bytes(&w, text, text_length(text));
	if (l->is_cut || !wr_ok(&w)) {
		l->is_cut = true;
		return false;
	}
	l->len += wr_len(&w);
	return true;
}
