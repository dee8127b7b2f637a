package io.gds4j.compat.plan;

import io.gds4j.compat.plan.Route.Access;
import org.jspecify.annotations.Nullable;

/**
 * By which way the bytes of a request go, and why. There is one of each kind, so that deciding allocates nothing.
 *
 * @param route follows from the others
 */
record Decision(CacheVerdict verdict, Access access, Route route) {

    private static final @Nullable Decision[][] KNOWN =
            new Decision[CacheVerdict.values().length][Access.values().length];

    static {
        for (CacheVerdict verdict : CacheVerdict.values()) {
            for (Access access : Access.values()) {
                Route route = Route.in(verdict, access);
                KNOWN[verdict.ordinal()][access.ordinal()] =
                        route == null ? null : new Decision(verdict, access, route);
            }
        }
    }

    static Decision of(CacheVerdict verdict, Access access) {
        Decision known = KNOWN[verdict.ordinal()][access.ordinal()];
        if (known == null) {
            throw new AssertionError("no request is " + verdict + " and " + access);
        }
        return known;
    }

    /** Returns whether bytes bypass the page cache. */
    boolean passes() {
        return access.mayPass() && route != Route.BUFFERED;
    }
}
