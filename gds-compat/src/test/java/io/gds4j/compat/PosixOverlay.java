package io.gds4j.compat;

import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** System calls, some of which a test answers itself. */
public final class PosixOverlay {
    private PosixOverlay() {
    }

    /** Answers a call, or forwards it to the kernel. */
    public interface Answer {
        Object answer(Method call, Object[] arguments, Kernel kernel) throws Exception;
    }

    /** The real call with the same arguments. */
    public interface Kernel {
        Object call() throws Exception;
    }

    public static Posix of(Answer answer) {
        Posix real = FfmPosix.instance();
        return (Posix) Proxy.newProxyInstance(
                Posix.class.getClassLoader(), new Class<?>[]{Posix.class}, (proxy, method, arguments) -> {
                    try {
                        return answer.answer(method, arguments, () -> method.invoke(real, arguments));
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }
}
