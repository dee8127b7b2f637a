package io.gds4j.loader.faults;

import io.gds4j.ffi.cuda.FakeCuda;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/**
 * Stands between backends and native libraries: counts the calls of an operation, and lets one of them fail. A proxy of a binding's
 * interface passes every method, so a new native function takes part without a line here. Thread-safe.
 */
final class NativeCalls {
    /** A call that fails: the n-th of its function, from 1 on. */
    record Fault(NativeFunction function, int nth, TypicalErrors.NativeError error) {
        /** Returns whether the driver cannot go on. */
        boolean isFatal() {
            return error.mode() == TypicalErrors.Mode.FROM_NOW_ON;
        }

        @Override
        public String toString() {
            return "call %s of %s fails with %s".formatted(nth, function, error);
        }
    }

    private final FakeCuda gpus;
    private final Map<NativeFunction, Integer> counts = new TreeMap<>();
    private boolean counting;
    private Fault fault;

    /** @param gpus die of the errors that do not end with their call */
    NativeCalls(FakeCuda gpus) {
        this.gpus = gpus;
    }

    /** Returns the binding with its calls watched. */
    <T> T watch(Class<T> binding, T real) {
        return binding.cast(Proxy.newProxyInstance(
                binding.getClassLoader(), new Class<?>[]{binding}, (proxy, method, arguments) -> call(
                        new NativeFunction(binding, method.getName()), real, method, arguments)));
    }

    private Object call(NativeFunction function, Object real, Method method, Object[] arguments) throws Throwable {
        Optional<TypicalErrors.NativeError> error = count(function);
        if (error.isPresent() && error.get().mode() == TypicalErrors.Mode.FROM_NOW_ON) {
            gpus.die(error.get().code());
        }
        if (error.isPresent() && error.get().mode() != TypicalErrors.Mode.AFTERWARDS) {
            return error.get().answer(function, method);
        }
        try {
            Object result = method.invoke(real, arguments);
            return error.isPresent() ? error.get().answer(function, method) : result;
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private synchronized Optional<TypicalErrors.NativeError> count(NativeFunction function) {
        if (!counting) {
            return Optional.empty();
        }
        int nth = counts.merge(function, 1, Integer::sum);
        return fault != null && fault.function.equals(function) && fault.nth == nth
                ? Optional.of(fault.error)
                : Optional.empty();
    }

    /** Plans the fault of the next operation; null for none. */
    synchronized void plan(Fault next) {
        fault = next;
        counts.clear();
    }

    /** Runs an operation whose calls count, on whatever thread, and of which the planned one fails. */
    <T> T during(Callable<T> operation) throws Exception {
        count(true);
        try {
            return operation.call();
        } finally {
            count(false);
        }
    }

    private synchronized void count(boolean on) {
        counting = on;
    }

    /** Returns the number of calls of each function in the last operation. */
    synchronized Map<NativeFunction, Integer> counts() {
        return new TreeMap<>(counts);
    }

    /** Returns the planned fault once its call has failed. */
    synchronized Optional<Fault> failed() {
        return Optional.ofNullable(fault).filter(planned -> counts.getOrDefault(planned.function, 0) >= planned.nth);
    }
}
