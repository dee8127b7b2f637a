package io.gds4j.ffi.verbs;

import io.gds4j.ffi.DynamicLoader;

/** libibverbs of this machine, or why there is none. */
public sealed interface VerbsLibrary {
    /** The usual name of the library. */
    String NAME = "libibverbs.so.1";

    /** It is loaded. */
    record Loaded(Verbs verbs) implements VerbsLibrary {
    }

    /** It is not to be had: the cause and what to do about it, one line each. */
    record Missing(String reason, String remedy) implements VerbsLibrary {
    }

    /** Loads a library, which stays loaded; never throws. */
    static VerbsLibrary open(String name) {
        return switch (DynamicLoader.open(name)) {
            case DynamicLoader.Unlinked unlinked -> new Missing(unlinked.reason(), "start the program as that says");
            case DynamicLoader.NotLoaded not -> new Missing(
                    "no RDMA device: " + not.reason(), "install rdma-core (libibverbs1)");
            case DynamicLoader.Loaded loaded -> {
                FfmVerbs verbs = new FfmVerbs(loaded.symbols());
                yield verbs.missing().isEmpty()
                        ? new Loaded(verbs)
                        : new Missing(
                                "libibverbs lacks " + String.join(", ", verbs.missing()), "install a newer rdma-core");
            }
        };
    }
}
