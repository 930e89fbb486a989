/*
 * The scenarios, each a test of its own: a script beside this file is played against the whole server.
 */
#include "scenario/play.h"

#include <criterion/criterion.h>

#define SCENARIO(name)                   \
	Test(scenario, name)             \
	{                                \
		play_file(#name ".txt"); \
	}

SCENARIO(examples)

/* Codes. */
SCENARIO(same_code)
SCENARIO(code_expiry)
SCENARIO(code_downtime)
SCENARIO(code_wrong_date)

/* Hosts. */
SCENARIO(takeover)
SCENARIO(states)
SCENARIO(host_silence)
SCENARIO(friend_waits)
SCENARIO(wait_with_friend)
SCENARIO(wait_alone)
SCENARIO(wait_extended)
SCENARIO(gone_while_away)

/* Friends. */
SCENARIO(datagrams)
SCENARIO(grace)
SCENARIO(resume)
SCENARIO(friend_silence)
SCENARIO(candidates)
SCENARIO(candidates_again)
SCENARIO(role_deadline)

/* Both protocols. */
SCENARIO(versions)
SCENARIO(protocol_1)
SCENARIO(protocol_1_return)
SCENARIO(protocol_1_end)

/* The server goes and comes back. */
SCENARIO(restart)
SCENARIO(restart_empty)
SCENARIO(restart_wait)
SCENARIO(restart_protocol_1)
SCENARIO(killed)
