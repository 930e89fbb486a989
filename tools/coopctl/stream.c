#include "coopctl/stream.h"

#include "base/auto.h"
#include "base/text.h"

#include <errno.h>
#include <libwebsockets.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGE_BYTES_MAX ((size_t)256 * 1024)
#define SAY_MAX           4
#define PAUSE_MIN_US      (500 * LWS_US_PER_MS)
#define PAUSE_MAX_US      (5 * LWS_US_PER_SEC)
#define CLOSED_NO_TOKEN   4401
#define CLOSED_ORIGIN     4403
#define CLOSED_FULL       1013
#define NOT_REACHED       "the events cannot be reached: does coopd run? coopctl doctor looks for the reason"

struct stream {
	struct stream_place place;
	struct stream_wish  wish;
	char                token[65];
	pthread_t           thread;
	int                 wake; /* an eventfd for who takes */
	atomic_bool         is_over;

	pthread_mutex_t     lock; /* what stands in this block */
	struct stream_item *items[STREAM_WAITING + 8];
	size_t              first, count;

	/* The thread's own. */
	struct lws_context            *context;
	struct lws                    *wsi; /* NULL: there is no connection */
	lws_sorted_usec_list_t         again;
	lws_usec_t                     pause;
	char                          *say[SAY_MAX]; /* to be sent, in order */
	size_t                         say_count;
	char                          *in; /* a message so far */
	size_t                         in_len;
	unsigned                       status; /* of the server's close frame; 0: none came */
	bool                           is_up, was_up, is_held;
	char                           started_at[40]; /* of the run that seq belongs to */
	bool                           has_seq;
	int64_t                        seq;
	bool                           is_trying; /* a connection that has not ended */
	struct lws_protocols           protocols[2];
	struct lws_client_connect_info info; /* points to these */
	char                           address[sizeof(((struct stream_place *)0)->socket) + 1];
	char                           host[sizeof(((struct stream_place *)0)->host) + 16];
};

_Noreturn static void end_without_memory(void)
{
	fputs("coopctl: there is no memory\n", stderr);
	exit(CTL_REFUSED);
}

/* --- Items, between the threads --- */

/* True: there is no room for more. Takes message over. */
static bool push(struct stream *s, const struct stream_item *item)
{
	struct stream_item *copy = malloc(sizeof(*copy));
	bool                full;

	if (!copy)
		end_without_memory();
	*copy = *item;
	pthread_mutex_lock(&s->lock);
	s->items[(s->first + s->count) % COUNT_OF(s->items)] = copy;
	s->count++;
	full = s->count >= STREAM_WAITING;
	pthread_mutex_unlock(&s->lock);
	eventfd_write(s->wake, 1);
	return full;
}

bool stream_next(struct stream_item *out, struct stream *s)
{
	struct stream_item *item = NULL;
	eventfd_t           n;
	bool                was_full;

	pthread_mutex_lock(&s->lock);
	was_full = s->count == STREAM_WAITING;
	if (s->count > 0) {
		item     = s->items[s->first];
		s->first = (s->first + 1) % COUNT_OF(s->items);
		s->count--;
	} else {
		eventfd_read(s->wake, &n);
	}
	pthread_mutex_unlock(&s->lock);
	if (was_full)
		lws_cancel_service(s->context);
	if (!item)
		return false;
	*out = *item;
	free(item);
	return true;
}

int stream_fd(const struct stream *s)
{
	return s->wake;
}

/* --- What is said --- */

/* Takes j over. */
static void say(struct stream *s, json_t *j)
{
	char *text = json_dumps(j, JSON_COMPACT);

	json_decref(j);
	if (!text || s->say_count == SAY_MAX)
		end_without_memory();
	s->say[s->say_count++] = text;
	lws_callback_on_writable(s->wsi);
}

static void forget_said(struct stream *s)
{
	while (s->say_count > 0)
		free(s->say[--s->say_count]);
}

static bool send_one(struct stream *s)
{
	size_t         len   = strlen(s->say[0]);
	unsigned char *frame = malloc(LWS_PRE + len);
	int            sent;

	if (!frame)
		end_without_memory();
	memcpy(frame + LWS_PRE, s->say[0], len);
	sent = lws_write(s->wsi, frame + LWS_PRE, len, LWS_WRITE_TEXT);
	free(frame);
	free(s->say[0]);
	s->say_count--;
	memmove((void *)s->say, (const void *)(s->say + 1), s->say_count * sizeof(s->say[0]));
	if (s->say_count > 0)
		lws_callback_on_writable(s->wsi);
	return sent >= 0;
}

static json_t *filter(const struct stream *s)
{
	json_t *kinds = json_array();

	for (size_t i = 0; i < s->wish.kind_count; i++)
		json_array_append_new(kinds, json_string(s->wish.kinds[i]));
	if (s->wish.kind_count == 0)
		json_array_append_new(kinds, json_string("*"));
	return json_pack("{s:s,s:o,s:b}", "op", "filter", "kinds", kinds, "figures", (int)s->wish.figures);
}

/* --- What comes --- */

/* From which number on: what this run has said behind the last event seen, all of it in a run that is another. */
static void begin(struct stream *s, const json_t *hello)
{
	const char   *started = json_string_value(json_object_get(hello, "started_at"));
	const json_t *newest  = json_object_get(hello, "seq");

	if (s->has_seq && started && strcmp(started, s->started_at) != 0)
		s->seq = 0;
	else if (!s->has_seq && s->wish.has_since)
		s->seq = s->wish.since;
	else if (!s->has_seq && json_is_integer(newest))
		s->seq = json_integer_value(newest) > s->wish.recent ? json_integer_value(newest) - s->wish.recent : 0;
	s->has_seq = s->has_seq || s->wish.has_since || json_is_integer(newest);
	text_copy(s->started_at, sizeof(s->started_at), started ? started : "");
	say(s, filter(s));
	if (s->has_seq)
		say(s, json_pack("{s:s,s:I}", "op", "since", "seq", (json_int_t)s->seq));
}

/* False: the server is none that we know. */
static bool on_message(struct stream *s, const char *text, size_t len)
{
	json_t            *j    = json_loadb(text, len, 0, NULL);
	const char        *op   = json_string_value(json_object_get(j, "op"));
	const json_t      *seq  = json_object_get(j, "seq");
	struct stream_item item = { .what = STREAM_MESSAGE, .message = j };

	if (!op) {
		json_decref(j);
		return false;
	}
	if (strcmp(op, "hello") == 0) {
		item.what = STREAM_UP;
		s->is_up = s->was_up = true;
		s->pause             = PAUSE_MIN_US;
		begin(s, j);
	} else if (strcmp(op, "event") == 0 && json_is_integer(seq)) {
		s->seq     = json_integer_value(seq);
		s->has_seq = true;
	}
	if (push(s, &item) && !s->is_held) {
		s->is_held = true;
		lws_rx_flow_control(s->wsi, 0);
	}
	return true;
}

static bool on_bytes(struct stream *s, const char *bytes, size_t len)
{
	bool done = lws_is_final_fragment(s->wsi) && lws_remaining_packet_payload(s->wsi) == 0;
	bool fine = true;

	if (len > MESSAGE_BYTES_MAX - s->in_len)
		return false;
	memcpy(s->in + s->in_len, bytes, len);
	s->in_len += len;
	if (done) {
		fine      = on_message(s, s->in, s->in_len);
		s->in_len = 0;
	}
	return fine;
}

/* --- Its end, and again --- */

static void over(struct stream *s, enum ctl_exit e, const char *code, const char *text)
{
	struct stream_item item = { .what = STREAM_OVER, .exit = e, .code = code };

	text_copy(item.text, sizeof(item.text), text);
	atomic_store(&s->is_over, true);
	push(s, &item);
}

static void try_again(struct stream *s, const char *why)
{
	struct stream_item item = { .what = STREAM_DOWN };

	text_copy(item.text, sizeof(item.text), why);
	if (s->is_up)
		push(s, &item);
	s->is_up = false;
	lws_sul_schedule(s->context, 0, &s->again, s->again.cb, s->pause);
	s->pause = s->pause * 2 > PAUSE_MAX_US ? PAUSE_MAX_US : s->pause * 2;
}

/* The connection ended, or did not come about. */
static void on_end(struct stream *s, const char *why)
{
	unsigned status = s->status;

	s->is_trying = false;
	s->wsi       = NULL;
	s->status    = 0;
	s->in_len    = 0;
	s->is_held   = false;
	forget_said(s);
	if (atomic_load(&s->is_over))
		return;
	if (status == CLOSED_NO_TOKEN)
		over(s, CTL_FORBIDDEN, "token",
		     s->token[0] ? "the server does not take this token: it is wrong, expired or revoked"
		                 : "the server wants a token: run coopctl as root or as the user coopd runs as, or "
		                   "give one "
		                   "by --token-file");
	else if (status == CLOSED_ORIGIN)
		over(s, CTL_FORBIDDEN, "host", "the server does not know itself by this name: add it to admin.hosts");
	else if (status == CLOSED_FULL && !s->was_up)
		over(s, CTL_REFUSED, "no_room",
		     "limits.admin_viewers watch already: end one of them, or raise the limit");
	else if (!s->was_up)
		over(s, CTL_UNREACHABLE, "unreachable", why);
	else
		try_again(s, why);
}

static void connect_now(struct stream *s)
{
	s->is_trying = true;
	if (!lws_client_connect_via_info(&s->info) && s->is_trying)
		on_end(s, NOT_REACHED);
}

static void on_pause_over(lws_sorted_usec_list_t *again)
{
	connect_now(CONTAINER(again, struct stream, again));
}

static void take_again(struct stream *s)
{
	if (!s->is_held || !s->wsi)
		return;
	s->is_held = false;
	lws_rx_flow_control(s->wsi, 1);
}

static int on_event(struct lws *wsi, enum lws_callback_reasons why, void *user, void *in, size_t len)
{
	struct stream *s = lws_context_user(lws_get_context(wsi));

	(void)user;
	switch (why) {
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		s->wsi = wsi;
		if (s->token[0])
			say(s, json_pack("{s:s,s:s}", "op", "auth", "token", s->token));
		return 0;
	case LWS_CALLBACK_CLIENT_WRITEABLE:
		return s->say_count == 0 || send_one(s) ? 0 : -1;
	case LWS_CALLBACK_CLIENT_RECEIVE:
		return on_bytes(s, in, len) ? 0 : -1;
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
		if (len >= 2)
			s->status = (unsigned)((const uint8_t *)in)[0] << 8 | ((const uint8_t *)in)[1];
		return 0;
	case LWS_CALLBACK_CLIENT_CLOSED:
		on_end(s, "the connection ended");
		return 0;
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		on_end(s, NOT_REACHED);
		return 0;
	case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
		take_again(s);
		return 0;
	default:
		return 0;
	}
}

/* --- The thread --- */

/* libwebsockets says little about why a unix socket cannot be opened. */
static bool try_socket(struct stream *s)
{
	struct sockaddr_un at   = { .sun_family = AF_UNIX };
	int                fd   = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool               fine = fd >= 0 && text_copy(at.sun_path, sizeof(at.sun_path), s->place.socket) &&
	            connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
	int  why = fine ? 0 : errno;
	char text[STREAM_TEXT_BYTES];

	if (fd >= 0)
		close(fd);
	if (fine)
		return true;
	if (why == EACCES || why == EPERM) {
		text_format(text, sizeof(text), "you may not open %s: run coopctl as root or as the user coopd runs as",
		            s->place.socket);
		over(s, CTL_FORBIDDEN, "permission", text);
		return false;
	}
	text_format(text, sizeof(text),
	            "%s cannot be opened (%s): does coopd run? --events-socket names another one (coopd's "
	            "admin.events_socket)",
	            s->place.socket, strerror(why));
	over(s, CTL_UNREACHABLE, "unreachable", text);
	return false;
}

static void *run(void *arg)
{
	struct stream *s = arg;

	if (s->place.socket[0] && !try_socket(s))
		return NULL;
	connect_now(s);
	while (!atomic_load(&s->is_over))
		lws_service(s->context, 0);
	return NULL;
}

/* An idle connection is asked whether it is still there; a server whose machine vanished says nothing else. */
static const lws_retry_bo_t alive = { .secs_since_valid_ping = 15, .secs_since_valid_hangup = 30 };

static void prepare(struct stream *s)
{
	const char                      *name = s->place.socket[0] ? "localhost" : s->place.host;
	bool                             is_6 = strchr(name, ':') != NULL;
	char                             port[16];
	struct lws_context_creation_info info = { .port      = CONTEXT_PORT_NO_LISTEN,
		                                  .protocols = s->protocols,
		                                  .user      = s,
		                                  .gid       = -1,
		                                  .uid       = -1,
		                                  .options =
		                                          s->place.is_tls ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0 };

	lws_set_log_level(0, NULL);
	s->protocols[0] = (struct lws_protocols){ .name = "events", .callback = on_event, .rx_buffer_size = 65536 };
	s->context      = lws_create_context(&info);
	if (!s->context)
		end_without_memory();
	text_format(s->address, sizeof(s->address), "%s%s", s->place.socket[0] ? "+" : "",
	            s->place.socket[0] ? s->place.socket : s->place.host);
	text_format(port, sizeof(port), ":%d", s->place.port);
	text_format(s->host, sizeof(s->host), "%s%s%s%s", is_6 ? "[" : "", name, is_6 ? "]" : "",
	            s->place.socket[0] || s->place.is_tls ? "" : port);
	s->info = (struct lws_client_connect_info){ .context                   = s->context,
		                                    .address                   = s->address,
		                                    .port                      = s->place.port,
		                                    .path                      = "/admin/v1/events",
		                                    .host                      = s->host,
		                                    .local_protocol_name       = "events",
		                                    .ssl_connection            = s->place.is_tls ? LCCSCF_USE_SSL : 0,
		                                    .retry_and_idle_policy     = &alive,
		                                    .ietf_version_or_minus_one = -1,
		                                    .pwsi                      = &s->wsi };
}

struct stream *stream_open(const struct ctl *c, const struct stream_place *place, const struct stream_wish *wish)
{
	struct stream *s = calloc(1, sizeof(*s));
	sigset_t       all, before;

	if (!s || !(s->in = malloc(MESSAGE_BYTES_MAX)))
		end_without_memory();
	s->place    = *place;
	s->wish     = *wish;
	s->pause    = PAUSE_MIN_US;
	s->again.cb = on_pause_over;
	s->wake     = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	text_copy(s->token, sizeof(s->token), c->where.token);
	pthread_mutex_init(&s->lock, NULL);
	prepare(s);
	/* Signals are for who waits. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (s->wake < 0 || pthread_create(&s->thread, NULL, run, s) != 0)
		end_without_memory();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return s;
}

void stream_close(struct stream *s)
{
	struct stream_item left;

	if (!s)
		return;
	atomic_store(&s->is_over, true);
	lws_cancel_service(s->context);
	pthread_join(s->thread, NULL);
	while (stream_next(&left, s))
		json_decref(left.message);
	lws_context_destroy(s->context);
	forget_said(s);
	close(s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s->in);
	free(s);
}
