package io.gds4j.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class ForwardingBackendTest {
    static Stream<Method> functions() {
        return Stream.of(CuFileBackend.class.getMethods()).filter(method -> !Modifier.isStatic(method.getModifiers()));
    }

    @ParameterizedTest
    @MethodSource("functions")
    void everyFunctionReachesTheDelegate(Method function) throws Exception {
        List<String> called = new ArrayList<>();
        CuFileBackend delegate = (CuFileBackend) Proxy.newProxyInstance(
                CuFileBackend.class.getClassLoader(), new Class<?>[]{CuFileBackend.class}, (proxy, method, args) -> {
                    called.add(method.getName());
                    return nothing(method.getReturnType());
                });
        CuFileBackend backend = new ForwardingBackend(delegate) {
        };
        Object[] arguments =
                Stream.of(function.getParameterTypes()).map(ForwardingBackendTest::nothing).toArray();

        function.invoke(backend, arguments);

        assertThat(called).containsExactly(function.getName());
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
