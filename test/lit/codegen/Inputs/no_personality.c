/* To be loaded before a program: addresses stay random, as in a container that forbids to say otherwise. */
#include <errno.h>

int personality(unsigned long persona)
{
	if (persona == 0xffffffff)
		return 0;
	errno = EPERM;
	return -1;
}
