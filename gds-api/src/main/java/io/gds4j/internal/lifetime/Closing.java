package io.gds4j.internal.lifetime;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Closes several resources. */
public final class Closing {
    private Closing() {
    }

    /** Closes all, even if one fails; throws the first failure, with later ones attached. */
    public static <T> void all(Iterable<T> resources, Consumer<? super T> close) {
        @Nullable Throwable first = null;
        for (T resource : resources) {
            try {
                close.accept(resource);
            } catch (RuntimeException | Error e) {
                if (first == null) {
                    first = e;
                } else if (first != e) {
                    first.addSuppressed(e);
                }
            }
        }
        if (first instanceof Error error) {
            throw error;
        }
        if (first != null) {
            throw (RuntimeException) first;
        }
    }
}
