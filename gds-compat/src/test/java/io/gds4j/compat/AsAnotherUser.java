package io.gds4j.compat;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** One thread without any rights of the user that runs the tests. libc's setresuid would change all threads, the system call does not. */
public final class AsAnotherUser {
    private static final long SETRESUID = System.getProperty("os.arch").equals("aarch64") ? 147 : 117;
    private static final long NOBODY = 65534;

    private AsAnotherUser() {
    }

    /** Runs it in a thread of its own as user nobody; skips the test where this process may not become another user. */
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
            assertThat(e.getCause()).as("what the other user met").isNull();
        }
    }
}
