/* coopctl web, coopctl tokens: ways in. */
#include "coopctl/act.h"
#include "coopctl/list.h"
#include "coopctl/value.h"

#include "base/auto.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- A link to the page --- */

/* Where a browser on this machine finds the page; for free(), NULL: there is no such listener. */
static char *page_address(const json_t *listeners)
{
	static const char *const anywhere[] = { "0.0.0.0:", "[::]:", "*:" };
	const json_t            *l;
	size_t                   i;
	char                    *url = NULL;

	json_array_foreach(listeners, i, l)
	{
		const char *part    = json_string_value(json_object_get(l, "part"));
		const char *address = json_string_value(json_object_get(l, "address"));

		if (!part || !address || strcmp(part, "admin") != 0 || strchr(address, '/'))
			continue;
		for (size_t k = 0; k < COUNT_OF(anywhere); k++)
			if (strncmp(address, anywhere[k], strlen(anywhere[k])) == 0)
				return asprintf(&url, "http://127.0.0.1:%s", address + strlen(anywhere[k])) < 0 ? NULL
				                                                                                : url;
		return asprintf(&url, "http://%s", address) < 0 ? NULL : url;
	}
	return NULL;
}

static enum ctl_exit find_page(char **url, struct ctl *c)
{
	json_t       *status = NULL;
	enum ctl_exit e;

	if (c->where.url) {
		*url = strdup(c->where.url);
		return CTL_OK;
	}
	e = client_get(&status, c, "/status");
	if (e != CTL_OK)
		return e;
	*url = page_address(json_object_get(status, "listeners"));
	json_decref(status);
	if (!*url)
		return ctl_fail(c, CTL_REFUSED, "no_listener",
		                "coopd has no listener for the page: set admin.listen (127.0.0.1:10002) and start it "
		                "again");
	return CTL_OK;
}

static enum ctl_exit run_web(struct ctl *c)
{
	static const struct action login = {
		.method = "POST",
		.path   = "/login",
		.what   = "make a link that signs in as {0}, once",
		.done   = "",
	};
	const char           *role   = ctl_value(c, "role") ? ctl_value(c, "role") : "operator";
	AUTO(auto_free) char *url    = NULL;
	json_t               *answer = NULL;
	enum ctl_exit         e      = find_page(&url, c);

	if (e != CTL_OK)
		return e;

	json_t *body = json_pack("{s:s}", "role", role);

	e = act_quietly(&answer, c, &login, (const char *[ACT_TEXTS_MAX]){ role },
	                &(struct client_request){ .body = body });
	json_decref(body);
	if (e != CTL_OK || !answer)
		return e;

	const char           *secret = json_string_value(json_object_get(answer, "secret"));
	AUTO(auto_free) char *safe   = print_escape(secret ? secret : "");

	if (!secret) {
		e = ctl_fail(c, CTL_REFUSED, "foreign", "the server made no link");
	} else if (c->json) {
		AUTO(auto_free) char *link = NULL;

		if (asprintf(&link, "%s/#%s", url, secret) < 0)
			abort();
		json_object_set_new(answer, "url", json_string(link));
		print_json(stdout, answer);
	} else {
		printf("%s/#%s\n", url, safe);
		fputs("Open it within a minute; it works once.\n", stderr);
		if (!c->where.url)
			fprintf(stderr, "From another machine: ssh -L %s:%s SERVER, then open it there.\n",
			        strrchr(url, ':') + 1, url + strlen("http://"));
	}
	json_decref(answer);
	return e;
}

#define ROLE(text)                                                                        \
	{                                                                                 \
		.name = "role", .value = "ROLE", .help = text, .words = "viewer operator" \
	}

static const struct ctl_option web_options[] = { ROLE("what it may do; else operator"), { 0 } };

static const struct ctl_command web_commands[] = {
	{ "", "", "print a link that opens the web page signed in, once",
	  "It is good for a minute, and its session for 12 hours.", web_options,
	  "coopctl web\nxdg-open \"$(coopctl web)\"\ncoopctl web --role viewer", run_web },
	{ 0 },
};
const struct ctl_group ctl_web = { "web", "print a one-time link to the web page", web_commands };

/* --- Tokens --- */

static enum ctl_exit run_list(struct ctl *c)
{
	static const struct print_column columns[] = {
		{ "ID", "id", PRINT_NUMBER },
		{ "NAME", "name", PRINT_TEXT },
		{ "ROLE", "role", PRINT_TEXT },
		{ "USED", "used_at", PRINT_AGO },
		{ "EXPIRES", "expires_at", PRINT_AGO },
		{ "REVOKED", "revoked_at", PRINT_AGO },
		{ "MADE BY", "made_by", PRINT_TEXT },
		{ "MADE", "made_at", PRINT_AGO },
		{ 0 },
	};

	return list_run(c, "/tokens", columns, "There is no token.");
}

static enum ctl_exit run_add(struct ctl *c)
{
	static const struct print_column fields[] = {
		{ "Number", "id", PRINT_TEXT },
		{ "Role", "role", PRINT_TEXT },
		{ "Good until", "expires_at", PRINT_TIME },
		{ 0 },
	};
	static const struct action add = {
		.method = "POST",
		.path   = "/tokens",
		.what   = "make a token called {0} with the role {1}",
		.done   = "",
		.fields = fields,
	};
	const char   *role   = ctl_value(c, "role") ? ctl_value(c, "role") : "viewer";
	json_t       *answer = NULL;
	json_t       *body   = json_pack("{s:s,s:s}", "name", ctl_arg(c, 0), "role", role);
	int64_t       expires_s;
	enum ctl_exit e;

	if (!body)
		return ctl_fail(c, CTL_USAGE, "usage", "the name must be UTF-8");
	if (ctl_given(c, "never-expires"))
		json_object_set_new(body, "expires_s", json_integer(0));
	else if (value_of(&expires_s, c, "expires"))
		json_object_set_new(body, "expires_s", json_integer(expires_s));
	e = act_quietly(&answer, c, &add, (const char *[ACT_TEXTS_MAX]){ ctl_arg(c, 0), role },
	                &(struct client_request){ .body = body });
	json_decref(body);
	if (e != CTL_OK || !answer)
		return e;
	if (c->json) {
		print_json(stdout, answer);
	} else {
		AUTO(auto_free) char *token = print_value(c, json_object_get(answer, "token"), PRINT_TEXT);

		/* What is to be kept goes to standard output alone: coopctl tokens add ci >token */
		print_fields(c, stderr, answer, fields);
		fputs("The token, which is shown this once:\n", stderr);
		printf("%s\n", token);
	}
	json_decref(answer);
	return CTL_OK;
}

static enum ctl_exit run_revoke(struct ctl *c)
{
	static const struct action revoke = {
		.method   = "DELETE",
		.path     = "/tokens/{0}",
		.destroys = true,
		.what     = "make token {0} worthless, and end the events that it watches",
		.done     = "Token {0} is revoked.",
	};

	return act_on_args(c, &revoke);
}

static const struct ctl_option list_options[] = { LIST_LIMIT, { 0 } };
static const struct ctl_option add_options[]  = {
	 ROLE("what it may do; else viewer"),
	 { .name = "expires", .value = "TIME", .kind = CTL_SECONDS, .help = "good for so long: 12h, 30d; else 90 days" },
	 { .name = "never-expires", .help = "good until it is revoked" },
	 { 0 },
};

static const struct ctl_command token_commands[] = {
	{ "list", "", "list the tokens, without themselves", NULL, list_options, "coopctl tokens", run_list },
	{ "add", "NAME", "make a token",
	  "It is printed on standard output, this once: the server keeps its hash only. A viewer reads; an operator "
	  "may do everything.",
	  add_options,
	  "umask 077; coopctl tokens add grafana >grafana.token\ncoopctl tokens add ada --role operator --expires 30d",
	  run_add },
	{ "revoke", "ID", "make a token worthless, at once", NULL, NULL, "coopctl tokens revoke 3", run_revoke },
	{ 0 },
};
const struct ctl_group ctl_tokens = { "tokens", "tokens for the API and the page: list, add, revoke", token_commands };
