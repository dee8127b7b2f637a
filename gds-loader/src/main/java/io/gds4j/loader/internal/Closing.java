package io.gds4j.loader.internal;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Closes several resources. */
public final class Closing {
    private Closing() {
    }

    /** Closes all, even if one reports a failure; throws the first failure, with later ones attached. */
    public static <T> void all(Iterable<T> resources, Consumer<? super T> close) {
        @Nullable RuntimeException first = null;
        for (T resource : resources) {
            try {
                close.accept(resource);
            } catch (RuntimeException e) {
                if (first == null) {
                    first = e;
                } else if (first != e) {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
