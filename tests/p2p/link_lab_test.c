/*
 * Link messages in a full room of clients that are written from the document: 64 of them on this machine, in groups of 8, and
 * one in ten datagrams between them is lost.
 */
#include "support/p2p_client.h"
#include "support/server.h"

#include "base/auto.h"
#include "base/bytes.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define MEMBERS      64
#define GROUP        8
#define GROUPS       (MEMBERS / GROUP)
#define LOST_OF_1000 100
#define DECIDED_MS   20000
#define MESSAGES     48
#define KILL_AT      24 /* in the middle */
#define PACE_MS      20
#define ARRIVES_MS   3000
#define BIGGEST      1025 /* a byte more than what goes through leaders */
#define FRAMES       "coopd_p2p_link_frames_total"

static struct server     *s;
static struct p2p_clients set;
static struct p2p_client *members[MEMBERS]; /* by seat */

/* Each message begins with its index, 2 bytes. */
static struct said {
	struct p2p_client *by;
	int64_t            at_ms, number;
	size_t             leaders, straight, receivers;
	uint8_t            got[MEMBERS]; /* how often, by seat */
	size_t             ways[P2P_CLIENT_RELAYED];
} said[MESSAGES];
static int64_t slowest_ms;

/* --- A room --- */

static void on_message(void *arg, struct p2p_client *c, const struct p2p_client_message *m)
{
	struct rd    r       = rd_over(m->bytes, m->len);
	struct said *w       = &said[rd_u16(&r) % MESSAGES];
	int64_t      took_ms = real_now_ms() - w->at_ms;

	(void)arg;
	cr_expect_eq(m->seat, w->by->seat, "of seat %u and not %u", m->seat, w->by->seat);
	w->got[c->seat]++;
	w->ways[m->way]++;
	if (took_ms > slowest_ms)
		slowest_ms = took_ms;
}

static bool are_checked(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < MEMBERS; i++) {
		if (!members[i]->nat.is_there || !members[i]->mapped.port)
			return false;
	}
	return true;
}

static bool are_settled(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < MEMBERS; i++) {
		if (members[i]->ws && !members[i]->is_settled)
			return false;
	}
	return true;
}

static bool are_grouped(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < MEMBERS; i++) {
		if (members[i]->ws && members[i]->groups_gen == 0)
			return false;
	}
	return true;
}

/* tacit: the seat of one who confirms nothing; -1: nobody. */
static void enter(size_t i, int tacit)
{
	struct p2p_client_options o = { .port = s->tunnel_port, .at = "127.0.0.1", .is_tacit = (int)i == tacit };
	char                      name[16];

	snprintf(name, sizeof(name), "member %zu", i);
	members[i] = p2p_client_new(&set, name, &o);
	cr_assert_not_null(members[i], "no hello for %s", name);
	p2p_client_begin_check(members[i], "nat.update");
}

static void expect_groups(const struct p2p_client *c)
{
	cr_assert_eq(c->group_count, GROUPS);
	for (size_t i = 0; i < GROUPS; i++) {
		cr_assert_eq(c->groups[i].count, GROUP);
		cr_assert(*c->groups[i].leader, "group %zu has no leader", i);
	}
}

static void expect_paths(void)
{
	for (size_t i = 0; i < MEMBERS; i++)
		for (size_t k = 0; k < members[i]->peer_count; k++)
			cr_assert_eq(members[i]->peers[k].state, P2P_CLIENT_PATH_UP, "seat %zu to %u", i,
			             members[i]->peers[k].seat);
}

/* Everybody is there, has a path to everybody, and is in a group with a leader. */
static void gather(int tacit)
{
	s   = server_start(NULL);
	set = (struct p2p_clients){ .lost_per_mille = LOST_OF_1000, .seed = 20261201, .on_message = on_message };
	memset(said, 0, sizeof(said));
	slowest_ms = 0;
	for (size_t i = 0; i < MEMBERS; i++)
		enter(i, tacit);
	cr_assert(p2p_clients_run(&set, are_checked, NULL, DECIDED_MS), "a check does not end");
	cr_assert(p2p_client_create(members[0], MEMBERS));
	for (size_t i = 1; i < MEMBERS; i++)
		cr_assert(p2p_client_join(members[i], members[0]->room));
	cr_assert(p2p_client_start(members[0]));
	cr_assert(p2p_clients_run(&set, are_settled, NULL, DECIDED_MS), "somebody still tries");
	expect_paths();
	cr_assert(p2p_client_ask(members[0], "p2p.links", "\"max\":8")->ok, "%s", members[0]->answer.text);
	cr_assert(p2p_clients_run(&set, are_grouped, NULL, DECIDED_MS), "somebody is not told of groups");
	expect_groups(members[0]);
}

static void part(void)
{
	p2p_clients_free(&set);
	server_finish(s);
}

static struct p2p_client *by_uid(const char *uid)
{
	for (size_t i = 0; i < MEMBERS; i++) {
		if (strcmp(members[i]->uid, uid) == 0)
			return members[i];
	}
	cr_assert_fail("nobody is %s", uid);
	return NULL;
}

static bool leads(const struct p2p_client *c)
{
	for (size_t i = 0; i < members[0]->group_count; i++) {
		if (strcmp(members[0]->groups[i].leader, c->uid) == 0)
			return true;
	}
	return false;
}

/* --- Messages --- */

static bool is_sent(void *arg)
{
	const struct said *w = arg;

	return w->by->sent_ref == (w - said) + 1;
}

static void say(size_t index, struct p2p_client *by, bool is_reliable, size_t len)
{
	struct said *w              = &said[index];
	uint8_t      bytes[BIGGEST] = { (uint8_t)index, (uint8_t)(index >> 8) };

	*w = (struct said){ .by = by, .at_ms = real_now_ms() };
	p2p_client_say(by, (int64_t)index + 1, is_reliable, bytes, len);
	cr_assert(p2p_clients_run(&set, is_sent, w, DIAL_PATIENCE_MS), "no link.sent");
	cr_assert(by->sent_ok);
	w->number    = by->sent_number;
	w->leaders   = (size_t)by->sent_leaders;
	w->straight  = (size_t)by->sent_straight;
	w->receivers = (size_t)by->sent_receivers;
}

static bool has_done(void *arg)
{
	const struct said *w = arg;

	return p2p_client_done_of(w->by, (uint32_t)w->number) != NULL;
}

static const struct p2p_client_done *await_done(size_t index)
{
	cr_assert(p2p_clients_run(&set, has_done, &said[index], DIAL_PATIENCE_MS), "no link.done of message %zu",
	          index);
	return p2p_client_done_of(said[index].by, (uint32_t)said[index].number);
}

static size_t frames_taken(void)
{
	size_t count = 0;

	for (size_t i = 0; i < MEMBERS; i++)
		count += members[i]->link_frames;
	return count;
}

/* --- The tests --- */

/* No others than the leader who dies and who is dead already. */
static struct p2p_client *speaker(size_t index, const struct p2p_client *victim)
{
	struct p2p_client *c = members[index * 7 % MEMBERS];

	return c == victim ? members[(index * 7 + 1) % MEMBERS] : c;
}

/* It hangs when the message comes to it, and then it is dead: what it was to pass on comes from the server. */
static void kill_leader(struct p2p_client *victim, size_t index)
{
	victim->is_paused = true;
	say(index, speaker(index, victim), true, 2);
	cr_expect_eq(said[index].leaders, GROUPS);
	p2p_client_kill(victim);
}

static void expect_once(size_t index, const struct p2p_client *victim)
{
	const struct said *w = &said[index];

	for (size_t i = 0; i < MEMBERS; i++) {
		bool is_for = members[i] != w->by && members[i] != victim;

		if (is_for)
			cr_expect_eq(w->got[i], 1, "message %zu came %u times to seat %zu", index, w->got[i], i);
		else if (members[i] == w->by)
			cr_expect_eq(w->got[i], 0, "message %zu came back to who said it", index);
	}
}

/* What a dead leader was to pass on, and what losses took, comes from the server, once. */
Test(p2p_link_lab, reliable_messages_arrive_once_though_datagrams_are_lost_and_a_leader_dies)
{
	gather(-1);
	struct p2p_client *victim = by_uid(members[0]->groups[2].leader);

	if (victim == members[0])
		victim = by_uid(members[0]->groups[3].leader);
	for (size_t i = 0; i < MESSAGES; i++) {
		if (i == KILL_AT)
			kill_leader(victim, i);
		else
			say(i, speaker(i, victim), true, 2);
		p2p_clients_run(&set, NULL, NULL, PACE_MS);
	}
	for (size_t i = 0; i < MESSAGES; i++) {
		const struct p2p_client_done *d = await_done(i);

		cr_expect_eq(d->missing_count, 0, "message %zu is missing at %zu", i, d->missing_count);
		expect_once(i, victim);
	}
	cr_expect_leq(slowest_ms, ARRIVES_MS, "the slowest took %lld ms", (long long)slowest_ms);
	cr_expect_geq(said[KILL_AT].ways[P2P_CLIENT_BY_SERVER_AGAIN], GROUP - 2, "%zu again",
	              said[KILL_AT].ways[P2P_CLIENT_BY_SERVER_AGAIN]);
	cr_expect_gt(set.links_lost, 0);
	cr_expect_gt(members[0]->groups_gen, 1, "nobody was told of a new leader");
	fprintf(stderr, "slowest %lld ms, %zu of %zu datagrams lost, %zu of them messages\n", (long long)slowest_ms,
	        set.lost, set.sent, set.links_lost);
	part();
}

/* What nobody repeats arrives at everybody but those whom a datagram did not reach. */
static bool all_have_arrived(void *arg)
{
	const size_t *count = arg;
	size_t        got = 0, receivers = 0;

	for (size_t i = 0; i < *count; i++) {
		receivers += said[i].receivers;
		for (size_t k = 0; k < MEMBERS; k++)
			got += said[i].got[k];
	}
	return got + set.links_lost == receivers;
}

Test(p2p_link_lab, unreliable_messages_arrive_once_or_not_at_all)
{
	size_t count = 20;

	gather(-1);
	for (size_t i = 0; i < count; i++)
		say(i, speaker(i, NULL), false, 2);
	cr_expect(p2p_clients_run(&set, all_have_arrived, &count, DIAL_PATIENCE_MS), "some are missing, or too many");
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < MEMBERS; k++)
			cr_expect_leq(said[i].got[k], members[k] != said[i].by, "message %zu at seat %zu", i, k);
		cr_expect_eq(said[i].ways[P2P_CLIENT_BY_SERVER_AGAIN], 0);
	}
	cr_expect_gt(set.links_lost, 0);
	part();
}

/* One for each leader, its own message too when it is the one who speaks; and one for each member above 1,024 bytes. */
Test(p2p_link_lab, the_server_sends_as_many_frames_as_the_document_counts)
{
	struct p2p_client *leader, *other = NULL;
	size_t             count = 4;

	gather(-1);
	leader = by_uid(members[0]->groups[0].leader);
	for (size_t i = 0; i < MEMBERS && !other; i++)
		other = leads(members[i]) ? NULL : members[i];
	say(0, other, false, 2);
	say(1, leader, false, 2);
	say(2, other, false, BIGGEST - 1);
	say(3, other, false, BIGGEST);
	cr_expect(p2p_clients_run(&set, all_have_arrived, &count, DIAL_PATIENCE_MS), "some are missing");
	for (size_t i = 0; i < 3; i++) {
		cr_expect_eq(said[i].leaders, GROUPS, "message %zu: %zu", i, said[i].leaders);
		cr_expect_eq(said[i].straight, 0, "message %zu: %zu", i, said[i].straight);
		cr_expect_eq(said[i].receivers, MEMBERS - 1);
	}
	cr_expect_eq(said[3].leaders, 0);
	cr_expect_eq(said[3].straight, MEMBERS - 1);
	cr_expect_eq(frames_taken(), 3 * GROUPS + MEMBERS - 1, "%zu frames came", frames_taken());
	cr_expect_eq((size_t)server_metric(s, FRAMES, "way=\"leader\""), 3 * GROUPS);
	cr_expect_eq((size_t)server_metric(s, FRAMES, "way=\"straight\""), MEMBERS - 1);
	part();
}

Test(p2p_link_lab, who_has_not_confirmed_is_named_in_the_end)
{
	const int                     tacit = 5;
	const struct p2p_client_done *d;

	gather(tacit);
	say(0, members[0], true, 2);
	d = await_done(0);
	cr_assert_eq(d->missing_count, 1);
	cr_expect_str_eq(d->missing[0], members[tacit]->uid);
	expect_once(0, NULL);
	part();
}
