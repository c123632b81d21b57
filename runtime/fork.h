/* fork.h - membership in what is done when the process forks or exits; see fork.c. */
#pragma once

#include <stdbool.h>

/* ORDER ranks: prepare goes up, parent and child go down. */
typedef enum RtForkRank {
    RANK_worker, /* its job may still need every pool */
    RANK_threads,
    RANK_kernels,
    RANK_pool,
    RANK_COUNT
} RtForkRank;

typedef struct RtForkMember RtForkMember;

typedef struct RtForkHooks {
    RtForkRank rank;
    void (*prepare)(RtForkMember *member); /* before the fork, in the forking thread */
    void (*parent)(RtForkMember *member);  /* after it, the same thread */
    void (*child)(RtForkMember *member);   /* after it, the child's only thread */
    void (*exit)(RtForkMember *member);    /* when the process exits, or NULL */
} RtForkHooks;

/* Embedded in what it is for, as the first field. */
struct RtForkMember {
    RtForkMember *next;
    const RtForkHooks *hooks;
};

bool rt_fork_join(RtForkMember *member,
                  const RtForkHooks *hooks); /* false: no memory */
void rt_fork_leave(RtForkMember *member);
