/* fork.c - the one place that answers fork and exit.
**
** A child has one thread, the one that forked. What other threads were doing at that
** moment stays undone for ever, so nothing of ours may be in the middle of anything:
**
**     prepare        workers finish their job and join their thread ─► helpers finish their piece
**                    and are joined ─► kernels, pools lock
**     parent, child  pools, kernels unlock ─► helpers, workers unlock
**
** Law 1: workers come first, because the job being finished may add a kernel or take memory.
** Law 2: the lock of a rank is held from prepare to parent or child, so that a member
**        neither comes nor goes in between. It is a lock a rank: a job may make pools.
** Law 3: hooks of one rank do not depend on the order within the rank.
*/
#include "runtime/fork.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* Lists of the process, because handlers of fork and exit get no argument. */
static RtForkMember *members[RANK_COUNT];
static pthread_mutex_t locks[RANK_COUNT] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool registered;

_Static_assert(RANK_COUNT == 4, "one initializer a rank");

static void
prepare(void)
{
    for (int rank = 0; rank < RANK_COUNT; rank++) {
        pthread_mutex_lock(&locks[rank]);
        for (RtForkMember *m = members[rank]; m; m = m->next)
            m->hooks->prepare(m);
    }
}

static void
parent(void)
{
    for (int rank = RANK_COUNT - 1; rank >= 0; rank--) {
        for (RtForkMember *m = members[rank]; m; m = m->next)
            m->hooks->parent(m);
        pthread_mutex_unlock(&locks[rank]);
    }
}

static void
child(void)
{
    for (int rank = RANK_COUNT - 1; rank >= 0; rank--) {
        for (RtForkMember *m = members[rank]; m; m = m->next)
            m->hooks->child(m);
        pthread_mutex_unlock(&locks[rank]);
    }
}

static void
at_exit(void)
{
    for (int rank = 0; rank < RANK_COUNT; rank++) {
        pthread_mutex_lock(&locks[rank]);
        for (RtForkMember *m = members[rank]; m; m = m->next)
            if (m->hooks->exit)
                m->hooks->exit(m);
        pthread_mutex_unlock(&locks[rank]);
    }
}

static void
register_handlers(void)
{
    registered = pthread_atfork(prepare, parent, child) == 0 && atexit(at_exit) == 0;
}

bool
rt_fork_join(RtForkMember *member, const RtForkHooks *hooks)
{
    pthread_once(&once, register_handlers);
    if (!registered)
        return false;
    member->hooks = hooks;
    pthread_mutex_lock(&locks[hooks->rank]);
    member->next = members[hooks->rank];
    members[hooks->rank] = member;
    pthread_mutex_unlock(&locks[hooks->rank]);
    return true;
}

void
rt_fork_leave(RtForkMember *member)
{
    RtForkRank rank = member->hooks->rank;
    RtForkMember **link;

    pthread_mutex_lock(&locks[rank]);
    for (link = &members[rank]; *link != member; link = &(*link)->next)
        continue;
    *link = member->next;
    pthread_mutex_unlock(&locks[rank]);
}
