/*
 * The log: one line per event, written by a thread of its own, so that a slow output never makes a caller wait.
 *
 * A line is the module, the connection's id where there is one, the verb, then key=value. Callers format; bytes of a
 * peer go through text_escape first and stand in quotes, addresses go through addr_text_log. No secret is ever passed here.
 *
 *	log_info("tunnel", conn_id, "opens", "code=%u friends=%zu", code, n);
 *	<6>tunnel[17]: opens code=123456 friends=2                              text with journald's level in front
 *	2026-11-30T19:00:00.123Z info tunnel[17]: opens code=...                text when standard error is a terminal or file
 *	{"time":"...","level":"info","module":"tunnel","conn":17,"event":"opens","text":"code=..."}    JSON
 *
 * Lines wait in a bounded ring; when it is full they are lost and counted (M_LOG_LOST), and the next line that gets
 * through is preceded by one that says how many.
 */
#ifndef OS_LOG_H
#define OS_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

#define LOG_LINE_BYTES_MAX 1024

/*
 * Starts the thread; lines before that go out at once. Output is standard error. The journald prefix is used when
 * the environment has JOURNAL_STREAM, a time stamp otherwise.
 */
void log_start(enum log_level level, enum log_format format);

/* Writes what waits (for at most 2 s) and ends the thread. Later lines go out at once again. */
void log_stop(void);

void log_set_level(enum log_level level);
bool log_is_on(enum log_level level);

/* conn 0: no connection. The format's result is cut at LOG_LINE_BYTES_MAX; line breaks in it become blanks. */
void log_line(enum log_level level, const char *module, uint64_t conn, const char *verb, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#define log_error(module, conn, verb, ...) log_line(LOG_ERROR, module, conn, verb, __VA_ARGS__)
#define log_warn(module, conn, verb, ...)  log_line(LOG_WARN, module, conn, verb, __VA_ARGS__)
#define log_info(module, conn, verb, ...)  log_line(LOG_INFO, module, conn, verb, __VA_ARGS__)
#define log_debug(module, conn, verb, ...)                                    \
	do {                                                                  \
		if (log_is_on(LOG_DEBUG))                                     \
			log_line(LOG_DEBUG, module, conn, verb, __VA_ARGS__); \
	} while (0)

#endif
