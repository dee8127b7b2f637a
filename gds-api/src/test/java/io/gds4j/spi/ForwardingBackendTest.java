package io.gds4j.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.internal.routing.RoutingBackend;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ForwardingBackendTest {
    static Stream<Method> functions() {
        return Stream.of(CuFileBackend.class.getMethods());
    }

    static Stream<Method> controls() {
        return Stream.of(DriverControls.class.getMethods());
    }

    @ParameterizedTest
    @MethodSource("functions")
    void everyFunctionReachesTheDelegate(Method function) throws Exception {
        List<String> called = new ArrayList<>();
        CuFileBackend backend = new ForwardingBackend(recording(called)) {
        };

        invoke(function, backend);

        assertThat(called).containsExactly(function.getName());
    }

    @ParameterizedTest
    @MethodSource("controls")
    void everyControlOfTwoBackendsReachesTheFirst(Method control) throws Exception {
        List<String> called = new ArrayList<>();
        CuFileBackend backend = new RoutingBackend(recording(called), () -> {
            throw new AssertionError("the second backend is not needed");
        });

        invoke(control, backend.controls());

        assertThat(called).contains(control.getName());
    }

    private static void invoke(Method function, Object on) throws Exception {
        function.invoke(on, Stream.of(function.getParameterTypes()).map(ForwardingBackendTest::nothing).toArray());
    }

    /** Returns a backend and its controls, which do nothing and record the names of the functions. */
    private static CuFileBackend recording(List<String> called) {
        return (CuFileBackend) Proxy.newProxyInstance(
                CuFileBackend.class.getClassLoader(), new Class<?>[]{CuFileBackend.class, DriverControls.class},
                (proxy, method, arguments) -> {
                    called.add(method.getName());
                    return method.getReturnType().isInstance(proxy) ? proxy : nothing(method.getReturnType());
                });
    }

    private static @Nullable Object nothing(Class<?> type) {
        if (type == boolean.class) {
            return false;
        }
        if (type == int.class) {
            return 0;
        }
        return type == long.class ? 0L : null;
    }
}
