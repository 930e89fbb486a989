/* The table of settings and limits, and looking things up in it by name. */
#include "conf/conf_table.h"

#include "base/auto.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

const struct conf_row conf_rows[CONF_ROWS] = {
#define SETTING(section_, name_, type_, development_, production_, flags_, help_) \
	[CONF_ROW_##section_##_##name_] = {                                       \
		.section     = #section_,                                         \
		.name        = #name_,                                            \
		.type        = CONF_TYPE_##type_,                                 \
		.development = (development_),                                    \
		.production  = (production_),                                     \
		.flags       = (flags_),                                          \
		.offset      = offsetof(struct conf, section_##_##name_),         \
		.unit        = "",                                                \
		.help        = (help_),                                           \
	},
#include "conf/conf.def"
#undef SETTING
#define LIMIT(name_, default_, min_, max_, unit_, help_)            \
	[CONF_ROW_limits_##name_] = {                               \
		.section     = "limits",                            \
		.name        = #name_,                              \
		.type        = CONF_TYPE_LIMIT,                     \
		.development = #default_,                           \
		.offset      = offsetof(struct conf, limits.name_), \
		.min         = (min_),                              \
		.max         = (max_),                              \
		.unit        = (unit_),                             \
		.help        = (help_),                             \
	},
#include "conf/limits.def"
#undef LIMIT
};

/* Every name a setting answers to: the table's, then others that the documents promise. */
static const struct known_name {
	const char      *section;
	const char      *name;
	enum conf_row_id row;
} known_names[] = {
#define SETTING(section, name, ...) { #section, #name, CONF_ROW_##section##_##name },
#include "conf/conf.def"
#undef SETTING
#define LIMIT(name, ...) { "limits", #name, CONF_ROW_limits_##name },
#include "conf/limits.def"
#undef LIMIT
	{ "server", "log_level", CONF_ROW_log_level },
};

static const enum conf_row_id reloads[] = {
#define RELOADS(name) CONF_ROW_limits_##name,
#include "conf/reload.def"
#undef RELOADS
};

bool conf_can_reload(const struct conf_row *row)
{
	if (row->type != CONF_TYPE_LIMIT)
		return (row->flags & (RELOAD | CHANGE)) != 0;
	for (size_t i = 0; i < sizeof(reloads) / sizeof(reloads[0]); i++) {
		if (row == &conf_rows[reloads[i]])
			return true;
	}
	return false;
}

static void env_name(char out[CONF_NAME_BYTES], const struct known_name *known)
{
	(void)text_format(out, CONF_NAME_BYTES, "COOP_%s_%s", known->section, known->name);
	for (char *c = out; *c; c++)
		*c = (char)toupper((unsigned char)*c);
}

const char *conf_row_default(const struct conf_row *row, bool production)
{
	return production && row->production ? row->production : row->development;
}

const struct conf_row *conf_row_find(const char *section, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(known_names); i++) {
		const struct known_name *known = &known_names[i];

		if (strcmp(known->section, section) == 0 && strcmp(known->name, name) == 0)
			return &conf_rows[known->row];
	}
	return NULL;
}

const struct conf_row *conf_row_find_env(const char *variable, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(known_names); i++) {
		char name[CONF_NAME_BYTES];

		env_name(name, &known_names[i]);
		if (strlen(name) == len && memcmp(name, variable, len) == 0)
			return &conf_rows[known_names[i].row];
	}
	return NULL;
}

bool conf_section_is_known(const char *section)
{
	for (size_t i = 0; i < COUNT_OF(known_names); i++)
		if (strcmp(known_names[i].section, section) == 0)
			return true;
	return false;
}

/* text_distance, without counting where the lengths alone say that it is cap or more. */
static size_t changes(const char *a, const char *b, size_t cap)
{
	size_t a_len = strlen(a), b_len = strlen(b);

	if ((a_len > b_len ? a_len - b_len : b_len - a_len) >= cap)
		return cap;
	return strcmp(a, b) == 0 ? 0 : text_distance(a, b, cap);
}

const char *conf_section_nearest(const char *section)
{
	const char *nearest = known_names[0].section;
	size_t      fewest  = CONF_NAME_BYTES;

	for (size_t i = 0; i < COUNT_OF(known_names) && fewest > 0; i++) {
		size_t found = changes(section, known_names[i].section, fewest);

		if (found < fewest) {
			fewest  = found;
			nearest = known_names[i].section;
		}
	}
	return nearest;
}

/* A right name in the wrong section is one mistake, however different the sections are spelt. */
static size_t key_changes(const struct known_name *known, const char *section, const char *name, size_t cap)
{
	size_t in_name    = changes(name, known->name, cap);
	size_t in_section = in_name < cap ? changes(section, known->section, in_name == 0 ? 1 : cap) : 0;

	return in_name + in_section;
}

void conf_key_nearest(char out[CONF_NAME_BYTES], const char *section, const char *name)
{
	const struct known_name *nearest = &known_names[0];
	size_t                   fewest  = CONF_NAME_BYTES;

	for (size_t i = 0; i < COUNT_OF(known_names); i++) {
		size_t found = key_changes(&known_names[i], section, name, fewest);

		if (found < fewest) {
			fewest  = found;
			nearest = &known_names[i];
		}
	}
	(void)text_format(out, CONF_NAME_BYTES, "%s.%s", nearest->section, nearest->name);
}

void conf_env_nearest(char out[CONF_NAME_BYTES], const char *variable)
{
	size_t fewest = CONF_NAME_BYTES;

	env_name(out, &known_names[0]);
	for (size_t i = 0; i < COUNT_OF(known_names); i++) {
		char name[CONF_NAME_BYTES];

		env_name(name, &known_names[i]);
		size_t found = changes(variable, name, fewest);
		if (found < fewest) {
			fewest = found;
			(void)text_copy(out, CONF_NAME_BYTES, name);
		}
	}
}
