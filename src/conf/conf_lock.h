/*
 * Lists of words (http.trusted_proxies, http.allowed_origins, admin.hosts) change in a reload while other threads than the loop's
 * read them. Between conf_hold and conf_let_go they stay as they are; what is done there is short, and waits for nothing.
 */
#ifndef CONF_CONF_LOCK_H
#define CONF_CONF_LOCK_H

/* For reading, also what was made from such a list. */
void conf_hold(void);
void conf_let_go(void);

/* For who changes it; nobody reads meanwhile. Ended by conf_let_go. */
void conf_hold_alone(void);

#endif
