package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

/** Saves without a call that makes the result durable: what checks saves must notice it. */
public final class UnforcedSave {
    /** What the save leaves out. */
    public enum Omission {
        /** The fsync of the folder. */
        FOLDER,
        /** The fdatasync of the files. */
        FILE
    }

    private UnforcedSave() {
    }

    /** Saves a plan, and says that it is done. */
    public static void save(SavePlan plan, Omission omission) {
        Posix posix = FfmPosix.instance();
        FileCalls calls = SystemFileCalls.INSTANCE;
        if (omission == Omission.FOLDER) {
            calls = without(FileCalls.class, calls, "sync", null);
        } else {
            posix = without(Posix.class, posix, "fdatasync", 0);
        }
        try (CuFileDriver driver = CuFileDriver.open(
                new CompatBackend(CuFileConfig.defaults(), posix, CudaDriver.detect()))) {
            plan.start(driver, SaveListener.NONE, calls).await();
        }
    }

    private static <T> T without(Class<T> type, T real, String call, Object result) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[]{type}, (proxy, method, arguments) -> {
                    if (method.getName().equals(call)) {
                        return result;
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }
}
