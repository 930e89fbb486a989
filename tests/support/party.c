#include "support/party.h"

#include "support/dial.h"

#include <criterion/criterion.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ECHO_EVERY_MS      5000
#define ANSWERED_WITHIN_MS 2000
#define PAYLOAD_BYTES      64
#define TRIPS_FIRST        4096
#define NET_FIRST          1

/* What a datagram carries, as it lies in memory: it comes back to the process that sent it. */
struct payload {
	int32_t  game, seat;
	uint32_t sequence;
	uint32_t unused;
	int64_t  sent_us;
};

/* Those of a test that ends early are found here, and are no leak. */
static struct party *parties;

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

__attribute__((format(printf, 2, 3))) static void break_with(struct party_member *m, const char *format, ...)
{
	struct party *p = m->party;
	va_list       args;

	if (p->broken[0])
		return;

	int len = snprintf(p->broken, sizeof(p->broken), "party %s, game %d, seat %d: ", p->name, m->game, m->seat);

	va_start(args, format);
	vsnprintf(p->broken + len, sizeof(p->broken) - (size_t)len, format, args);
	va_end(args);
}

void party_check(const struct party *p)
{
	cr_assert(!p->broken[0], "%s", p->broken);
}

struct party_member *party_host(const struct party *p, int game)
{
	return &p->members[game * (p->friends + 1)];
}

struct party_member *party_friend(const struct party *p, int game, int friend)
{
	return party_host(p, game) + friend;
}

size_t party_size(const struct party *p)
{
	return (size_t)p->games * (size_t)(p->friends + 1);
}

static void member_name(char out[64], const struct party_member *m)
{
	snprintf(out, 64, "%s %d.%d", m->party->name, m->game, m->seat);
}

/* Saying who one is */

static void introduce(struct party_member *m)
{
	struct pattern p;
	char           name[64];

	member_name(name, m);
	if (m->seat == 0)
		msg_host_open(&p, name);
	else
		msg_join(&p, party_host(m->party, m->game)->code, name, name);
	crowd_send(&m->peer, p.value, p.len);
}

static void on_host_opened(struct party_member *host, const uint8_t *data)
{
	uint32_t code = read_u32(data + 1);

	if (host->code && host->code != code)
		break_with(host, "had code %u and now gets %u", host->code, code);
	if (memcmp(data + 5, host->id, ID_BYTES) != 0)
		break_with(host, "gets another's id");
	host->code = code;
	host->in   = true;
	for (int f = 1; f <= host->party->friends; f++)
		party_friend(host->party, host->game, f)->told = false;
}

static void on_friend_is(struct party_member *host, const uint8_t *data)
{
	unsigned number = read_u16(data + 1);

	for (int f = 1; f <= host->party->friends; f++) {
		struct party_member *m = party_friend(host->party, host->game, f);

		if (memcmp(m->id, data + 3, ID_BYTES) != 0)
			continue;
		if (m->number && m->number != number)
			break_with(m, "had number %u and now has %u", m->number, number);
		m->number = number;
		m->told   = true;
		return;
	}
	break_with(host, "is told of a stranger");
}

/* Datagrams */

/* The messages behind their opcode (and client number) are a payload. */
static bool read_payload(struct payload *out, const uint8_t *data, size_t len, size_t head)
{
	if (len != head + PAYLOAD_BYTES)
		return false;
	memcpy(out, data + head, sizeof(*out));
	return true;
}

static void send_datagram(struct party_member *m)
{
	uint8_t        message[1 + PAYLOAD_BYTES] = { 10 };
	struct payload payload = { .game = m->game, .seat = m->seat, .sequence = m->sent, .sent_us = now_us() };

	memcpy(message + 1, &payload, sizeof(payload));
	if (crowd_send(&m->peer, message, sizeof(message)))
		m->sent++;
}

/* The host sends each datagram back. */
static void on_to_host(struct party_member *host, const uint8_t *data, size_t len)
{
	uint8_t        message[3 + PAYLOAD_BYTES] = { 5 };
	struct payload payload;

	if (!read_payload(&payload, data, len, 3)) {
		break_with(host, "gets a datagram of %zu bytes", len);
		return;
	}
	if (payload.game != host->game || payload.seat < 1 || payload.seat > host->party->friends ||
	    party_friend(host->party, payload.game, payload.seat)->number != read_u16(data + 1)) {
		break_with(host, "gets a datagram of game %d, seat %d as from %u", payload.game, payload.seat,
		           read_u16(data + 1));
		return;
	}
	memcpy(message + 1, data + 1, len - 1);
	crowd_send(&host->peer, message, len);
}

static void note_trip(struct party *p, int64_t us)
{
	if (p->trip_count == p->trip_cap) {
		p->trip_cap = p->trip_cap ? 2 * p->trip_cap : TRIPS_FIRST;
		p->trips_us = realloc(p->trips_us, p->trip_cap * sizeof(*p->trips_us));
		cr_assert_not_null(p->trips_us, "memory for round trips");
	}
	p->trips_us[p->trip_count++] = us > 0 ? (uint32_t)us : 0;
}

static void on_to_friend(struct party_member *m, const uint8_t *data, size_t len)
{
	struct payload payload;

	if (!read_payload(&payload, data, len, 1) || payload.game != m->game || payload.seat != m->seat) {
		break_with(m, "gets a datagram that is not his");
		return;
	}
	m->answered++;
	note_trip(m->party, now_us() - payload.sent_us);
}

static void on_message(struct party_member *m, const uint8_t *data, size_t len)
{
	bool host = m->seat == 0;

	if (data[0] == 3 || (host && data[0] == 6 && m->party->friends == 0))
		return;
	if (host && data[0] == 2 && len == 13)
		on_host_opened(m, data);
	else if (host && data[0] == 17 && len == 11)
		on_friend_is(m, data);
	else if (host && data[0] == 4 && len >= 3)
		on_to_host(m, data, len);
	else if (!host && data[0] == 9 && len == 2) {
		m->in    = true;
		m->state = data[1];
	} else if (!host && data[0] == 16 && len == 2)
		m->state = data[1];
	else if (!host && data[0] == 11)
		on_to_friend(m, data, len);
	else
		break_with(m, "gets a message %02x %02x of %zu bytes", data[0], len > 1 ? data[1] : 0, len);
}

static void on_news(struct crowd_peer *peer, enum crowd_news news, const uint8_t *data, size_t len)
{
	struct party_member *m = (struct party_member *)(void *)peer;

	switch (news) {
	case CROWD_OPENED:
		introduce(m);
		break;
	case CROWD_MESSAGE:
		on_message(m, data, len);
		break;
	case CROWD_ENDED:
		m->in = false;
		if (peer->status == 101)
			m->party->ended++;
		else
			m->party->refused++;
		break;
	}
}

/* Coming and going */

struct party *party_new(const char *name, int games, int friends)
{
	static int    nets = NET_FIRST;
	struct party *p    = calloc(1, sizeof(*p));

	cr_assert_not_null(p, "memory for a party");
	p->name    = name;
	p->net     = nets++;
	p->games   = games;
	p->friends = friends;
	p->members = calloc(party_size(p), sizeof(*p->members));
	cr_assert_not_null(p->members, "memory for a party");
	for (size_t i = 0; i < party_size(p); i++) {
		struct party_member *m = &p->members[i];
		char                 key[64];

		m->party = p;
		m->game  = (int)i / (friends + 1);
		m->seat  = (int)i % (friends + 1);
		member_name(key, m);
		id_of(m->id, key);
	}
	crowd_init(&p->crowd, on_news);
	p->next = parties;
	parties = p;
	return p;
}

void party_drop(struct party *p, bool reset)
{
	for (size_t i = 0; i < party_size(p); i++) {
		crowd_drop(&p->members[i].peer, reset);
		p->members[i].in   = false;
		p->members[i].told = false;
	}
}

void party_free(struct party *p)
{
	if (!p)
		return;

	struct party **at = &parties;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	party_drop(p, false);
	crowd_fini(&p->crowd);
	free(p->members);
	free(p->trips_us);
	free(p);
}

void party_dial(struct party *p, int port, bool hosts)
{
	char from[48];

	for (size_t i = 0; i < party_size(p); i++) {
		struct party_member *m = &p->members[i];

		if ((m->seat == 0) != hosts || m->peer.phase != CROWD_DOWN || (!hosts && !party_host(p, m->game)->code))
			continue;
		snprintf(from, sizeof(from), "%d.%d.%d.%d", p->crowd.tls ? 127 : 10, p->net, m->game, m->seat + 1);
		crowd_dial(&p->crowd, &m->peer, port, from);
	}
}

static bool is_anybody_missing(const struct party *p, bool hosts)
{
	for (size_t i = 0; i < party_size(p); i++)
		if ((p->members[i].seat == 0) == hosts && !p->members[i].in)
			return true;
	return false;
}

bool party_is_gathered(const struct party *p)
{
	for (size_t i = 0; i < party_size(p); i++)
		if (!p->members[i].in || (p->members[i].seat > 0 && !p->members[i].told))
			return false;
	return true;
}

static bool has_failed(const struct party *p)
{
	return p->broken[0] || p->refused > 0;
}

static bool is_settled(void *arg)
{
	return party_is_gathered(arg) || has_failed(arg);
}

static bool are_hosts_in(void *arg)
{
	return !is_anybody_missing(arg, true) || has_failed(arg);
}

static bool are_friends_in(void *arg)
{
	return !is_anybody_missing(arg, false) || has_failed(arg);
}

/* How far those are who have no role yet. */
static const char *who_is_missing(const struct party *p)
{
	static char text[128];
	size_t      of_phase[CROWD_OPEN + 1] = { 0 };

	for (size_t i = 0; i < party_size(p); i++)
		of_phase[p->members[i].peer.phase] += !p->members[i].in;
	snprintf(text, sizeof(text), "%zu are down, %zu connect, %zu wait for the upgrade, %zu for their role",
	         of_phase[CROWD_DOWN], of_phase[CROWD_DIALING], of_phase[CROWD_UPGRADING], of_phase[CROWD_OPEN]);
	return text;
}

int party_gather(struct party *p, int port, enum party_order order, int patience_ms)
{
	int64_t from_ms = real_now_ms();

	p->refused = 0;
	if (order != PARTY_FRIENDS_FIRST)
		party_dial(p, port, true);
	if (order == PARTY_HOSTS_FIRST)
		crowd_run(&p->crowd, are_hosts_in, p, patience_ms);
	party_dial(p, port, false);
	if (order == PARTY_FRIENDS_FIRST) {
		crowd_run(&p->crowd, are_friends_in, p, patience_ms);
		party_dial(p, port, true);
	}

	bool gathered = crowd_run(&p->crowd, is_settled, p, patience_ms);

	party_check(p);
	cr_assert_eq(p->refused, 0, "party %s: %u were refused", p->name, p->refused);
	cr_assert(gathered, "party %s: after %d ms not everybody is back: %s", p->name, patience_ms, who_is_missing(p));
	return (int)(real_now_ms() - from_ms);
}

/* Playing */

void party_send(struct party *p)
{
	for (int g = 0; g < p->games; g++)
		for (int f = 1; f <= p->friends; f++)
			send_datagram(party_friend(p, g, f));
}

void party_look(struct party *p, int ms)
{
	crowd_run(&p->crowd, NULL, NULL, ms);
	party_check(p);
}

static void send_echoes(struct party *p)
{
	static const uint8_t echo[5] = { 3 };

	for (size_t i = 0; i < party_size(p); i++)
		crowd_send(&p->members[i].peer, echo, sizeof(echo));
}

/* Each at his own moment, so that they do not all speak at once. */
static void send_due(struct party *p, int64_t now_ms, int per_s)
{
	for (size_t i = 0; i < party_size(p); i++) {
		struct party_member *m = &p->members[i];

		if (m->seat == 0 || !m->in || now_ms < m->next_ms)
			continue;
		m->next_ms = (m->next_ms > now_ms - 1000 ? m->next_ms : now_ms + (int64_t)i % (1000 / per_s + 1)) +
		             1000 / per_s;
		send_datagram(m);
	}
}

void party_play(struct party *p, int ms, int per_s)
{
	int64_t now_ms  = real_now_ms();
	int64_t end_ms  = now_ms + ms;
	int64_t echo_ms = now_ms;

	for (; now_ms < end_ms && !p->broken[0]; now_ms = real_now_ms()) {
		if (now_ms >= echo_ms) {
			send_echoes(p);
			echo_ms = now_ms + ECHO_EVERY_MS;
		}
		send_due(p, now_ms, per_s);
		crowd_run(&p->crowd, NULL, NULL, 1);
	}
	party_check(p);
}

static uint32_t count_unanswered(const struct party *p)
{
	uint32_t count = 0;

	for (size_t i = 0; i < party_size(p); i++)
		count += p->members[i].sent - p->members[i].answered;
	return count;
}

static bool is_all_answered(void *arg)
{
	return count_unanswered(arg) == 0;
}

uint32_t party_unanswered(struct party *p)
{
	crowd_run(&p->crowd, is_all_answered, p, ANSWERED_WITHIN_MS);
	party_check(p);
	return count_unanswered(p);
}

void party_forget_trips(struct party *p)
{
	p->trip_count = 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

uint32_t party_trip_us(struct party *p, int thousandths)
{
	cr_assert_gt(p->trip_count, 0, "party %s: no datagram came back", p->name);
	qsort(p->trips_us, p->trip_count, sizeof(*p->trips_us), compare);
	return p->trips_us[p->trip_count * (size_t)thousandths / 1000];
}
