package io.gds4j.compat;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** Runs code on a thread of another user. libc's setresuid would change the user of all threads, the system call changes one. */
public final class AsAnotherUser {
    private static final long SETRESUID = System.getProperty("os.arch").equals("aarch64") ? 147 : 117;
    private static final long NOBODY = 65534;

    private AsAnotherUser() {
    }

    /** Runs code in a new thread as the user nobody. Skips the test if this process must not change its user. */
    public static void run(Runnable action) throws InterruptedException {
        Linker linker = Linker.nativeLinker();
        MethodHandle syscall = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("syscall"),
                FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                Linker.Option.firstVariadicArg(1));
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        Thread.ofPlatform().start(() -> {
            try {
                boolean became = (long) syscall.invokeExact(SETRESUID, NOBODY, NOBODY, NOBODY) == 0;
                if (became) {
                    action.run();
                }
                done.complete(became);
            } catch (Throwable t) {
                done.completeExceptionally(t);
            }
        }).join();
        try {
            assumeTrue(done.get(), "only root may become another user");
        } catch (ExecutionException e) {
            assertThat(e.getCause()).as("failure as the other user").isNull();
        }
    }
}
