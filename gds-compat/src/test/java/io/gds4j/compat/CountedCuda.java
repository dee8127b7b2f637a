package io.gds4j.compat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** A driver that counts streams, events and memory that were made through it and not freed, by the call that made them. */
final class CountedCuda {
    private final Cuda driver;
    private final Consumer<String> before;
    private final Map<Long, Made> alive = new ConcurrentHashMap<>();

    private record Made(String by, long bytes) {
    }

    CountedCuda(Cuda driver) {
        this(driver, name -> {
        });
    }

    /** @param before receives the name of each call before it is made */
    CountedCuda(Cuda driver, Consumer<String> before) {
        this.driver = driver;
        this.before = before;
    }

    /** Returns the driver as a backend finds it. */
    CudaAvailability over(CudaAvailability.Available found) {
        Cuda counted = (Cuda) Proxy.newProxyInstance(
                Cuda.class.getClassLoader(), new Class<?>[]{Cuda.class},
                (proxy, method, arguments) -> call(method, arguments));
        return new CudaAvailability.Available(counted, found.driverVersion(), found.deviceCount());
    }

    private Object call(Method method, Object[] arguments) throws Throwable {
        Object result;
        before.accept(method.getName());
        try {
            result = method.invoke(driver, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
        if (Integer.valueOf(Cuda.SUCCESS).equals(result)) {
            note(method.getName(), arguments);
        }
        return result;
    }

    private void note(String name, Object[] arguments) {
        switch (name) {
            case "streamCreate", "eventCreate" -> alive.put(((long[]) arguments[0])[0], new Made(name, 0));
            case "memAlloc", "memAllocManaged", "memAllocAsync", "memHostAlloc" -> alive.put(
                    ((long[]) arguments[0])[0], new Made(name, (long) arguments[1]));
            case "memHostRegister" -> alive.put((long) arguments[0], new Made(name, (long) arguments[1]));
            case "streamDestroy", "eventDestroy", "memFree", "memFreeAsync", "memFreeHost", "memHostUnregister" -> alive
                    .remove((long) arguments[0]);
            default -> {
                // makes nothing
            }
        }
    }

    /** Returns the number of objects alive and their bytes, by the call that made them. */
    Map<String, String> alive() {
        Map<String, long[]> sums = new TreeMap<>();
        alive.values().forEach(made -> {
            long[] sum = sums.computeIfAbsent(made.by(), by -> new long[2]);
            sum[0]++;
            sum[1] += made.bytes();
        });
        Map<String, String> answer = new TreeMap<>();
        sums.forEach((by, sum) -> answer.put(by, "%d, %d bytes".formatted(sum[0], sum[1])));
        return answer;
    }
}
