/*
 * coopctl publish: a signed version of a mod into the folder of update files.
 *
 *	check manifest, key, package --> package in --> manifest in --> old packages out
 *
 * Each file is written under a name with a dot, which is served to nobody, synced, and renamed, so that no player gets half
 * of one; the manifest is last, so that nobody is sent to a package that is not there.
 */
#include "coopctl/act.h"
#include "coopctl/publish.h"

#include "base/auto.h"
#include "base/text.h"
#include "os/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES_MAX 16384

/* The value of one of the server's settings, for free(); NULL when it is not set, or the server did not say. */
static char *setting(const json_t *settings, const char *key)
{
	const json_t *item;
	size_t        i;

	json_array_foreach(json_object_get(settings, "items"), i, item)
	{
		const char *value = json_string_value(json_object_get(item, "value"));

		if (strcmp(json_string_value(json_object_get(item, "key")), key) == 0)
			return value && *value ? strdup(value) : NULL;
	}
	return NULL;
}

/* An option wins over the server's setting. */
static char *choose(const struct ctl *c, const char *option, const json_t *settings, const char *key)
{
	const char *given = ctl_value(c, option);

	return given ? strdup(given) : setting(settings, key);
}

/* Where, and with which key; the server need not be asked when both are said. */
static enum ctl_exit find_place(struct publish *p, struct ctl *c)
{
	json_t       *settings = NULL;
	enum ctl_exit e        = CTL_OK;

	if (!ctl_value(c, "dir") || !ctl_value(c, "key"))
		e = client_list(&settings, c, "/settings", 0);
	if (e != CTL_OK)
		return e;
	p->dir      = choose(c, "dir", settings, "update.dir");
	p->key_path = choose(c, "key", settings, "update.key");
	p->url      = setting(settings, "update.public_url");
	json_decref(settings);
	if (!p->dir)
		return ctl_fail(c, CTL_USAGE, "usage", "update.dir is not set on the server: set it, or say --dir");
	if (!p->key_path)
		return ctl_fail(c, CTL_USAGE, "usage",
		                "update.key is not set on the server, so nobody knows whose signature is right: set "
		                "it, "
		                "or say --key");
	return CTL_OK;
}

static enum ctl_exit load_key(struct publish *p, const struct ctl *c)
{
	AUTO(auto_free) char *pem = NULL;
	size_t                len;
	enum err              e = file_read(&pem, &len, p->key_path, KEY_BYTES_MAX);

	if (e != ERR_OK)
		return ctl_fail(c, CTL_REFUSED, "file", "the key %s cannot be read: %s", p->key_path, strerror(errno));
	if (p256_key_new(&p->key, pem, len) != ERR_OK)
		return ctl_fail(c, CTL_REFUSED, "key", "%s is no public key on P-256 in PEM (BEGIN PUBLIC KEY)",
		                p->key_path);
	return CTL_OK;
}

/* --- What is said --- */

static enum ctl_exit confirm(const struct publish *p, const struct ctl *c)
{
	char question[600];

	if (!p->is_older)
		return CTL_OK;
	text_format(question, sizeof(question),
	            "Version %s is older than %s, which is published now. Publish it all the same?",
	            p->manifest.version, p->published);
	return act_confirm(c, question);
}

static void say(const struct publish *p, const struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Version", "version", PRINT_TEXT },
		{ "Before", "before", PRINT_TEXT },
		{ "Package", "package", PRINT_TEXT },
		{ "  bytes", "bytes", PRINT_BYTES },
		{ "Folder", "dir", PRINT_TEXT },
		{ "Players find it at", "url", PRINT_TEXT },
		{ 0 },
	};
	json_t *j = json_pack("{s:b,s:s,s:s?,s:s,s:I,s:s,s:s?,s:o}", "ok", 1, "version", p->manifest.version, "before",
	                      p->published[0] ? p->published : NULL, "package", p->manifest.package, "bytes",
	                      (json_int_t)p->manifest.size, "dir", p->dir, "url", p->url, "removed", json_array());
	json_t *removed = json_object_get(j, "removed");

	for (size_t i = 0; i < p->old_count; i++)
		json_array_append_new(removed, json_string(p->old[i]));
	if (c->dry_run)
		json_object_set_new(j, "dry_run", json_true());
	if (c->json) {
		print_json(stdout, j);
	} else {
		puts(c->dry_run ? "The manifest and its package are good. This would be published:" : "Published.");
		print_fields(c, stdout, j, fields);
		for (size_t i = 0; i < p->old_count; i++)
			printf("%s %s, as three newer ones are there.\n", c->dry_run ? "This would remove" : "Removed",
			       p->old[i]);
	}
	json_decref(j);
}

static enum ctl_exit publish(struct publish *p, struct ctl *c)
{
	enum ctl_exit e = find_place(p, c);

	if (e == CTL_OK)
		e = load_key(p, c);
	if (e == CTL_OK)
		e = publish_read(p, c);
	if (e == CTL_OK && !c->dry_run)
		e = confirm(p, c);
	if (e == CTL_OK && !c->dry_run)
		e = publish_write(p, c);
	if (e == CTL_OK)
		e = publish_prune(p, c);
	if (e == CTL_OK)
		say(p, c);
	return e;
}

static enum ctl_exit run_publish(struct ctl *c)
{
	struct publish p = { 0 };
	enum ctl_exit  e = publish(&p, c);

	publish_fini(&p);
	return e;
}

static const struct ctl_option options[] = {
	{ .name = "dir", .value = "FOLDER", .help = "where to, instead of update.dir of the server" },
	{ .name = "key", .value = "FILE", .help = "public key in PEM, instead of update.key of the server" },
	{ 0 },
};

static const struct ctl_command commands[] = {
	{ "", "FILE...", "publish a signed version of a mod: its manifest and its package",
	  "Checks that the manifest's signature fits the key and that the package is the one that it names; then puts "
	  "the "
	  "package into the folder first and the manifest last, and keeps the three newest packages. A package that is "
	  "in "
	  "the folder already need not be given. It writes files, so it runs on the server's machine, as a user who "
	  "may "
	  "write there.",
	  options,
	  "coopctl publish update.txt Crysis-Coop-v0.6.2-update.bin\n"
	  "coopctl publish --dry-run update.txt Crysis-Coop-v0.6.2-update.bin  # only checks\n"
	  "coopctl publish --dir /srv/coopd/update --key public.pem update.txt",
	  run_publish },
	{ 0 },
};
const struct ctl_group ctl_publish = { "publish", "put a signed version of a mod where launchers find it", commands };
