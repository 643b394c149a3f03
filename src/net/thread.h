/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that runs a loop until it is freed. For engines whose connections outlive the loops of those who ask. */
#ifndef OLDDOG_NET_THREAD_H
#define OLDDOG_NET_THREAD_H

#include "net/loop.h"

struct loop_thread;

/* name: of the thread, 15 characters at most. All signals are blocked in it. */
int loop_thread_new(const char *name, struct loop_thread **ret);
/* For loop_post() from any thread; everything else is for tasks that run there. */
struct loop *loop_thread_loop(struct loop_thread *t);
/* Ends the loop after what was posted before, and joins. Nothing may be armed or watched there any more. */
void loop_thread_free(struct loop_thread *t);
DEFINE_AUTO(loop_thread);

#endif
