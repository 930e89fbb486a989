/*
 * Settings that can change while requests are answered: each request sees them as they were at one moment.
 */
#include "lobby/lobby_inside.h"

#include "base/text.h"
#include "crypt/hash.h"

#include <stdlib.h>
#include <string.h>

static bool copy(char **out, const char *text)
{
	*out = strdup(text);
	if (*out)
		text_make_utf8(*out); /* it goes into JSON */
	return *out != NULL;
}

/* A secret is not said to anybody: its bytes stay as they are. */
static bool copy_secret(char **out, const char *text)
{
	*out = strdup(text);
	return *out != NULL;
}

static void number_secret(struct lobby_settings *s, const struct lobby_settings *before, const struct conf *conf)
{
	const char *old = s->turn_secret_before;

	s->secret = 1;
	if (before)
		s->secret = before->secret + (strcmp(before->turn_secret, s->turn_secret) != 0);
	s->is_old_good = *old && strcmp(conf->turn_secret_previous, old) == 0;
}

/* The secret of the generation before: that of before, or, if it has not changed now, the one before that. */
static const char *secret_before(const struct lobby_settings *before, const char *secret)
{
	if (!before)
		return "";
	return strcmp(before->turn_secret, secret) == 0 ? before->turn_secret_before : before->turn_secret;
}

/* A secret that is no longer set is the one made for that; in production there is none, and what was goes on. */
static const char *choose(const char *set, const char *made, const char *before)
{
	return *set ? set : *made || !before ? made : before;
}

struct lobby_settings *lobby_settings_new(const struct conf *conf, const struct lobby_secrets *made,
                                          const struct lobby_settings *before)
{
	const char            *turn   = choose(conf->turn_secret, made->turn, before ? before->turn_secret : NULL);
	const char            *signal = choose(conf->signal_token, made->signal, before ? before->signal_token : NULL);
	struct lobby_settings *s      = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	atomic_init(&s->users, 1);
	s->latest_proto = conf->latest_proto;
	s->host_ttl_s   = conf->turn_host_ttl_s;
	if (!copy_secret(&s->turn_secret, turn) || !copy_secret(&s->turn_secret_before, secret_before(before, turn)) ||
	    !copy(&s->turn_uri, conf->turn_uri) || !copy(&s->stun_uri, conf->stun_uri) ||
	    !copy(&s->signal_url, conf->signal_url) || !copy(&s->signal_token, signal) ||
	    !copy(&s->latest_mod, conf->latest_mod) || !copy(&s->latest_url, conf->latest_url)) {
		lobby_settings_drop(s);
		return NULL;
	}
	number_secret(s, before, conf);
	return s;
}

struct lobby_settings *lobby_settings_use(struct lobby_master *m)
{
	struct lobby_settings *s;

	pthread_mutex_lock(&m->settings_lock);
	s = m->settings;
	atomic_fetch_add(&s->users, 1);
	pthread_mutex_unlock(&m->settings_lock);
	return s;
}

static void free_secret(char *secret)
{
	if (secret)
		wipe_secret(secret, strlen(secret));
	free(secret);
}

void lobby_settings_drop(struct lobby_settings *s)
{
	if (!s || atomic_fetch_sub(&s->users, 1) > 1)
		return;
	free_secret(s->turn_secret);
	free_secret(s->turn_secret_before);
	free_secret(s->signal_token);
	free(s->turn_uri);
	free(s->stun_uri);
	free(s->signal_url);
	free(s->latest_mod);
	free(s->latest_url);
	free(s);
}

void lobby_settings_dropp(struct lobby_settings **s)
{
	lobby_settings_drop(*s);
}

bool lobby_has_turn(const struct lobby_settings *s)
{
	return *s->turn_uri && *s->turn_secret;
}

const char *lobby_secret_of(const struct lobby_settings *s, unsigned generation)
{
	return generation == s->secret ? s->turn_secret : s->turn_secret_before;
}
