/* SPDX-License-Identifier: Apache-2.0 */
/* What a program of ours does first, so that the surroundings it was started in do it no harm. */
#ifndef OLDDOG_BASE_START_H
#define OLDDOG_BASE_START_H

/*
 * Descriptors 0, 1 and 2 that are closed are taken, by files that give and accept nothing: or else the next file opened
 * would be what is printed into. A file that grows past a limit is an error, no signal. As many descriptors as the hard
 * limit allows.
 */
void start_program(void);

#endif
