#include "conf/conf_lock.h"

#include <pthread.h>

/* Who changes something is the loop, which does not wait for ever new readers. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

void conf_hold(void)
{
	pthread_rwlock_rdlock(&lock);
}

void conf_hold_alone(void)
{
	pthread_rwlock_wrlock(&lock);
}

void conf_let_go(void)
{
	pthread_rwlock_unlock(&lock);
}
