/*
 * Plays a script (script.h) against the whole server: real sockets, and a clock that is moved.
 *
 * Actors are connections; any name but "server" is one. While the clock moves (by 5 s at a time, or by half a day when
 * nobody is connected) every host and friend sends ECHO after each move and waits for the answer, as real clients do
 * every 5 s: so nobody is taken for dead who is not meant to be. The answers are not seen by the script.
 *
 *	A opens key=K [from=ADDRESS]                 HOST_OPEN on a new connection; ADDRESS as a proxy would name it
 *	A opens proto=1 [code=$C secret=$S]          the same for protocol 1
 *	A joins code=$C [token=T] [key=K] [proto=1]  JOIN; without token or key, A's name; token=none for protocol 1
 *	A connects                                   only the upgrade: no role
 *	A drops                                      TCP is reset, as when the program or the machine dies
 *	A closes                                     a close frame with status 1000; the server has to close then
 *	A falls silent / speaks again                no more ECHO / ECHO again
 *
 *	A sends state restarting                     or ready, or any number
 *	A sends datagram "text"                      a host says to whom first: datagram 1 "text"
 *	A sends paths IP:PORT [xN] ... [count=N]     candidates; xN repeats the last; a host says to whom first
 *	A sends hex 0a 68 69                         any message (support/pattern.h)
 *
 *	A gets CODE VALUE [secret VALUE]             HOST_OPENED
 *	A gets JOINED ready                          or restarting, lost; without a state for protocol 1
 *	A gets STATE lost                            or restarting, ready, closed
 *	A gets FRIEND_IS 1 key=K
 *	A gets FRIEND_GONE 1
 *	A gets FAULT 3
 *	A gets datagram "text"                       a host: datagram 1 "text"
 *	A gets PATHS IP:PORT [xN] ... [count=N]      a host: PATHS 1 token=T IP:PORT ...
 *	A gets hex 0b * / gets nothing               nothing: for 200 ms of real time
 *	A is closed                                  an empty close frame, then the end of TCP
 *	A is cut                                     the end of TCP without a close frame
 *
 *	server restarts / is killed / stops / starts
 *	server loses its clock by 100d               the wall clock alone jumps ahead
 *
 * VALUE: $X equal to it, `as $X` keeps it as $X, `not $X` anything else. $X may stand wherever a value may.
 *
 * What an actor gets is its next message, in order; at the end of the script nobody may have one left.
 */
#ifndef TESTS_PLAY_H
#define TESTS_PLAY_H

/* Plays the file scenario/NAME of TESTS_DIR; what does not hold ends the test, with the conversation printed. */
void play_file(const char *name);

#endif
