#include "coopctl/client.h"

#include "base/auto.h"
#include "base/text.h"
#include "coopctl/print.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_PATIENCE_S 10L
#define PAGE_ITEMS         "1000"
#define PAGES_MAX          10000 /* ten million things: more than any server here keeps */

/* --- Paths --- */

_Noreturn static void end_without_memory(void)
{
	fputs("coopctl: there is no memory\n", stderr);
	exit(CTL_REFUSED);
}

static void put_encoded(FILE *out, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

	/* A segment of dots alone would be taken for a way up. */
	bool is_dots = strcmp(text, ".") == 0 || strcmp(text, "..") == 0;

	for (; *text; text++) {
		if (strchr(plain, *text) && !is_dots)
			fputc(*text, out);
		else
			fprintf(out, "%%%02X", (unsigned)(unsigned char)*text);
	}
}

char *client_path(const char *format, ...)
{
	char   *path = NULL;
	size_t  len  = 0;
	FILE   *out  = open_memstream(&path, &len);
	va_list args;

	if (!out)
		end_without_memory();
	va_start(args, format);
	for (; *format; format++) {
		if (format[0] == '%' && format[1] == 's') {
			put_encoded(out, va_arg(args, const char *));
			format++;
		} else {
			fputc(*format, out);
		}
	}
	va_end(args);
	if (fclose(out) != 0)
		end_without_memory();
	return path;
}

char *client_query(char *path, const char *name, const char *value)
{
	char  *longer = NULL;
	size_t len    = 0;
	FILE  *out    = value ? open_memstream(&longer, &len) : NULL;

	if (!value)
		return path;
	if (!out)
		end_without_memory();
	fprintf(out, "%s%c%s=", path, strchr(path, '?') ? '&' : '?', name);
	put_encoded(out, value);
	if (fclose(out) != 0)
		end_without_memory();
	free(path);
	return longer;
}

/* --- One request --- */

/* What comes, on its way to where it belongs. */
struct incoming {
	CURL  *curl;
	FILE  *to;
	char  *text;
	size_t len, cap;
	bool   too_big, cannot_write;
};

static bool keep(struct incoming *in, const char *data, size_t n)
{
	size_t cap = in->cap ? in->cap : 4096;

	if (n > CLIENT_BODY_BYTES_MAX - in->len) {
		in->too_big = true;
		return false;
	}
	while (cap < in->len + n + 1)
		cap *= 2;
	if (cap > in->cap) {
		char *larger = realloc(in->text, cap);

		if (!larger)
			end_without_memory();
		in->text = larger;
		in->cap  = cap;
	}
	memcpy(in->text + in->len, data, n);
	in->len += n;
	in->text[in->len] = '\0';
	return true;
}

/* libcurl's callback: fewer bytes than it gave end the transfer. */
static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
	struct incoming *in     = arg;
	long             status = 0;

	curl_easy_getinfo(in->curl, CURLINFO_RESPONSE_CODE, &status);
	if (!in->to || status != 200)
		return keep(in, data, size * n) ? n : 0;
	if (fwrite(data, size, n, in->to) == n)
		return n;
	in->cannot_write = true;
	return 0;
}

static CURL *client_curl(struct ctl *c)
{
	if (!c->curl && curl_global_init(CURL_GLOBAL_DEFAULT) == 0)
		c->curl = curl_easy_init();
	if (!c->curl)
		end_without_memory();
	curl_easy_reset(c->curl); /* keeps its connection */
	return c->curl;
}

void client_fini(struct ctl *c)
{
	if (!c->curl)
		return;
	curl_easy_cleanup(c->curl);
	curl_global_cleanup();
	c->curl = NULL;
}

/* A token goes over plain HTTP where nobody else can listen: to this machine, by address or by the one name that means it. */
static bool is_loopback_url(const char *url)
{
	char           host[64] = "";
	struct in_addr v4;
	const char    *at = strstr(url, "://");

	if (!at || !text_format(host, sizeof(host), "%.*s", (int)strcspn(at + 3, "/"), at + 3))
		return false;
	if (strncmp(host, "[::1]", 5) == 0)
		return host[5] == '\0' || host[5] == ':';
	host[strcspn(host, ":")] = '\0';
	return strcmp(host, "localhost") == 0 || (inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

static struct curl_slist *header(struct curl_slist *list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(list, line);

	if (!longer)
		end_without_memory();
	return longer;
}

static struct curl_slist *headers_of(const struct ctl *c, const struct client_request *rq)
{
	struct curl_slist *list = header(NULL, "Expect:");
	char               line[128];

	if (rq->body)
		list = header(list, "Content-Type: application/json");
	else if (rq->text)
		list = header(list, "Content-Type: text/csv");
	if (c->where.token[0]) {
		snprintf(line, sizeof(line), "Authorization: Bearer %s", c->where.token);
		list = header(list, line);
	}
	return list;
}

static void set_place(CURL *curl, const struct ctl *c, const char *path)
{
	char *url = NULL;

	if (asprintf(&url, "%s%s", c->where.url ? c->where.url : "http://localhost", path) < 0)
		end_without_memory();
	curl_easy_setopt(curl, CURLOPT_URL, url); /* it keeps a copy */
	free(url);
	if (c->where.socket)
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, c->where.socket);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
}

static void set_patience(CURL *curl, const struct client_request *rq)
{
	long all = rq->hasty ? CLIENT_HASTE_S : rq->patient ? 0L : CLIENT_PATIENCE_S;

	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, rq->hasty ? CLIENT_HASTE_S : CONNECT_PATIENCE_S);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, all);
}

/* An empty text goes along with what is no GET, so that its length is said; the caller frees it. */
static void set_body(CURL *curl, const struct client_request *rq, char **json)
{
	const char *method = rq->method ? rq->method : "GET";
	size_t      len    = rq->text_len;

	if (strcmp(method, "GET") == 0)
		return;
	*json = rq->body ? json_dumps(rq->body, JSON_COMPACT) : NULL;
	if (rq->body && !*json)
		end_without_memory();
	if (*json)
		len = strlen(*json);
	if (*json || rq->text || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, *json ? *json : rq->text ? rq->text : "");
	}
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

/* --- What came of it --- */

__attribute__((format(printf, 4, 5))) static void fail(struct client_answer *out, enum ctl_exit e, const char *code,
                                                       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	out->exit = e;
	text_copy(out->code, sizeof(out->code), code);
	text_formatv(out->message, sizeof(out->message), format, args);
	text_make_utf8(out->message);
	va_end(args);
}

static void say_unreachable(struct client_answer *out, const struct ctl *c, CURL *curl, CURLcode code)
{
	const char *place = c->where.url ? c->where.url : c->where.socket;
	long        why   = 0;

	curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &why);
	if (code == CURLE_OPERATION_TIMEDOUT)
		fail(out, CTL_UNREACHABLE, "timeout", "%s does not answer; coopctl doctor looks for the reason", place);
	else if (c->where.url)
		fail(out, CTL_UNREACHABLE, "unreachable",
		     "%s cannot be reached (%s): does coopd run there, with admin.listen?", place,
		     curl_easy_strerror(code));
	else if (why == EACCES || why == EPERM)
		fail(out, CTL_FORBIDDEN, "permission",
		     "you may not open %s: run coopctl as root or as the user coopd runs as (sudo -u coopd coopctl "
		     "...)",
		     place);
	else if (why == ENOENT)
		fail(out, CTL_UNREACHABLE, "unreachable",
		     "there is no socket %s: does coopd run? --socket names another one (its folder is coopd's "
		     "server.run)",
		     place);
	else if (why == ECONNREFUSED)
		fail(out, CTL_UNREACHABLE, "unreachable", "nobody listens on %s: coopd does not run (any more)", place);
	else
		fail(out, CTL_UNREACHABLE, "unreachable", "no answer from %s: %s", place, curl_easy_strerror(code));
}

/* What an operator can do about an answer, behind the server's own sentence. */
static const char *advice(const struct ctl *c, const struct client_answer *a)
{
	static const struct {
		const char *code, *text;
	} texts[] = {
		{ "role", " (this needs a token of an operator: coopctl tokens add NAME --role operator)" },
		{ "host", " (name the server as localhost, or add the name to admin.hosts)" },
		{ "part_off", " (this part is switched off: coopctl settings shows what is on)" },
		{ "force", " (--force does it all the same)" },
		{ "store_busy", " (try again; coopctl status shows how the store is)" },
		{ "no_space", " (coopctl status shows what takes the space)" },
	};

	if (a->status == 401)
		return c->where.token[0] ? " (the token is wrong, expired or revoked: coopctl tokens, at the server, "
		                           "lists those that are good)"
		       : c->where.url
		               ? " (give a token by --token-file or COOPCTL_TOKEN; coopctl tokens add NAME, at the "
		                 "server, makes one)"
		               : " (run coopctl as root or as the user coopd runs as, or give a token by --token-file)";
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (strcmp(texts[i].code, a->code) == 0)
			return texts[i].text;
	return "";
}

static enum ctl_exit exit_of(long status, const char *code)
{
	if (strcmp(code, "part_off") == 0)
		return CTL_REFUSED;
	switch (status) {
	case 401:
	case 403:
		return CTL_FORBIDDEN;
	case 404:
		return CTL_NOT_FOUND;
	case 409:
		return CTL_CONFLICT;
	default:
		return CTL_REFUSED;
	}
}

static void read_failure(struct client_answer *out, const struct ctl *c)
{
	const char *code = NULL, *message = NULL;
	char        text[CLIENT_MESSAGE_BYTES];

	json_unpack(out->json, "{s:{s:s,s:s}}", "error", "code", &code, "message", &message);
	if (!code) {
		fail(out, CTL_UNREACHABLE, "foreign",
		     "what answers at %s (status %ld) is no API of a coopd; is something else listening there?",
		     c->where.url ? c->where.url : c->where.socket, out->status);
		return;
	}
	text_copy(out->code, sizeof(out->code), code);
	text_copy(text, sizeof(text), message ? message : "");
	fail(out, exit_of(out->status, code), code, "%s%s", text, advice(c, out));
}

static void read_answer(struct client_answer *out, const struct ctl *c, bool may_be_other)
{
	json_error_t why;

	out->json = out->text ? json_loadb(out->text, out->text_len, 0, &why) : NULL;
	if (out->status != 200 && out->status != 201)
		read_failure(out, c);
	else if (!json_is_object(out->json) && !may_be_other)
		read_failure(out, c);
}

/* path: of the whole server. */
static void request(struct client_answer *out, struct ctl *c, const struct client_request *rq, const char *path,
                    bool may_be_other)
{
	CURL                 *curl = client_curl(c);
	struct curl_slist    *head = headers_of(c, rq);
	struct incoming       in   = { .curl = curl, .to = rq->to };
	AUTO(auto_free) char *body = NULL;

	*out = (struct client_answer){ .exit = CTL_OK };
	if (c->where.token[0] && c->where.url && strncmp(c->where.url, "http://", 7) == 0 &&
	    !is_loopback_url(c->where.url)) {
		fail(out, CTL_USAGE, "usage",
		     "the token would cross the network readable for all: use https://, or a tunnel (ssh -L "
		     "10002:127.0.0.1:10002 "
		     "server) and --url http://127.0.0.1:10002");
		curl_slist_free_all(head);
		return;
	}
	set_place(curl, c, path);
	set_patience(curl, rq);
	set_body(curl, rq, &body);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, head);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &in);

	CURLcode code = curl_easy_perform(curl);

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out->status);
	curl_slist_free_all(head);
	out->text     = in.text;
	out->text_len = in.len;
	if (in.cannot_write)
		fail(out, CTL_REFUSED, "output", "the file cannot be written: %s", strerror(errno));
	else if (in.too_big)
		fail(out, CTL_REFUSED, "too_big", "the answer is too large");
	else if (code != CURLE_OK)
		say_unreachable(out, c, curl, code);
	else
		read_answer(out, c, may_be_other || (rq->to && out->status == 200));
}

void client_try(struct client_answer *out, struct ctl *c, const struct client_request *rq)
{
	char *path = NULL;

	if (asprintf(&path, "/admin/v1%s", rq->path) < 0)
		end_without_memory();
	if (rq->dry_run)
		path = client_query(path, "dry_run", "true");
	request(out, c, rq, path, false);
	free(path);
}

void client_try_raw(struct client_answer *out, struct ctl *c, const char *path)
{
	const struct client_request rq = { .path = path };

	request(out, c, &rq, path, true);
}

void client_answer_free(struct client_answer *a)
{
	json_decref(a->json);
	free(a->text);
	a->json = NULL;
	a->text = NULL;
}

enum ctl_exit client_say(const struct ctl *c, const struct client_answer *a)
{
	const json_t *problems = json_object_get(a->json, "problems");
	const json_t *problem;
	int           len = (int)strlen(a->message);
	size_t        i;

	if (c->json && json_object_get(a->json, "error")) {
		print_json(stderr, a->json);
		return a->exit;
	}
	while (len > 0 && a->message[len - 1] == '\n')
		len--;
	ctl_fail(c, a->exit, a->code, c->json ? "%.*s" : "%.*s [%s]", len, a->message, a->code);
	json_array_foreach(problems, i, problem)
	{
		AUTO(auto_free) char *text = print_value(c, problem, PRINT_TEXT);

		fprintf(stderr, "  %s\n", text);
	}
	return a->exit;
}

enum ctl_exit client_ask(json_t **out, struct ctl *c, const struct client_request *rq)
{
	struct client_answer a;
	enum ctl_exit        e;

	client_try(&a, c, rq);
	e = a.exit == CTL_OK ? CTL_OK : client_say(c, &a);
	if (e == CTL_OK && out)
		*out = json_incref(a.json);
	client_answer_free(&a);
	return e;
}

enum ctl_exit client_get(json_t **out, struct ctl *c, const char *path)
{
	const struct client_request rq = { .path = path };

	return client_ask(out, c, &rq);
}

/* --- Lists --- */

/* One page: its items go to the end of all; *cursor: of the next one, for free(), NULL when there is none. */
static enum ctl_exit add_page(json_t *all, char **cursor, struct ctl *c, const char *path)
{
	json_t       *page = NULL;
	enum ctl_exit e    = client_get(&page, c, path);

	if (e != CTL_OK)
		return e;

	const char *next = json_string_value(json_object_get(page, "next"));
	json_t     *more = json_object_get(page, "items");

	if (!json_is_array(more) || (next && *cursor && strcmp(next, *cursor) == 0))
		e = ctl_fail(c, CTL_REFUSED, "foreign",
		             "the server's list makes no sense; are its version and coopctl's the same?");
	else if (json_array_extend(all, more) != 0)
		end_without_memory();
	free(*cursor);
	*cursor = next && e == CTL_OK ? strdup(next) : NULL;
	json_decref(page);
	return e;
}

enum ctl_exit client_list(json_t **out, struct ctl *c, const char *path, int64_t items_max)
{
	json_t       *all    = json_array();
	char         *cursor = NULL;
	enum ctl_exit e      = CTL_OK;
	int           pages  = 0;

	do {
		char *page = client_query(client_query(strdup(path), "limit", PAGE_ITEMS), "cursor", cursor);

		e = add_page(all, &cursor, c, page);
		free(page);
		if (e == CTL_OK && ++pages == PAGES_MAX && cursor)
			e = ctl_fail(c, CTL_REFUSED, "endless", "the list does not end; use a filter, or --limit");
	} while (e == CTL_OK && cursor && (items_max == 0 || (int64_t)json_array_size(all) < items_max));
	free(cursor);
	while (items_max > 0 && (int64_t)json_array_size(all) > items_max)
		json_array_remove(all, json_array_size(all) - 1);
	if (e == CTL_OK)
		*out = json_pack("{s:O}", "items", all);
	json_decref(all);
	return e;
}
