#include "support/other_end.h"

#include "support/dial.h"

#include <criterion/criterion.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define DESCRIPTORS_MAX 65536

int other_end(int client_fd)
{
	struct sockaddr_in mine, peer = { .sin_family = AF_UNSPEC };
	socklen_t          len = sizeof(mine);

	cr_assert_eq(getsockname(client_fd, (struct sockaddr *)&mine, &len), 0);
	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		len = sizeof(peer);
		if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && peer.sin_family == AF_INET &&
		    peer.sin_port == mine.sin_port)
			return fd;
	}
	cr_assert_fail("nobody in this process has the other end");
	return -1;
}

bool other_end_reads(int client_fd)
{
	int     fd = other_end(client_fd), bytes = 0, before = -1;
	int64_t until = 0;

	while (ioctl(fd, SIOCINQ, &bytes) == 0 && bytes > 0) {
		if (bytes != before)
			until = real_now_ms() + 500;
		else if (real_now_ms() >= until)
			return false;
		before = bytes;
		real_sleep_ms(1);
	}
	return true;
}
