/*
 * How urgent threads are to the kernel.
 */
#ifndef OS_PRIORITY_H
#define OS_PRIORITY_H

/*
 * From now on the calling thread, and those it starts, give way to the other threads: for moving many bytes that nobody
 * plays with. Ten steps of nice, so it still gets about a tenth of a processor that somebody else wants for himself. Not
 * to be undone, since only root may; a second call changes nothing.
 */
void priority_give_way(void);

#endif
