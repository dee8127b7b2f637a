package io.gds4j.tools;

import io.gds4j.statistics.CuFileStatisticsMXBean;
import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.management.NotCompliantMBeanException;
import javax.management.StandardMBean;
import org.jspecify.annotations.Nullable;

/** Statistics that another program of the same user could show: every text is of its choice. */
final class ForgedStatistics {
    private ForgedStatistics() {
    }

    /** Returns a bean whose texts are {@code text}; null for a bean without texts. */
    static StandardMBean bean(@Nullable String text) throws NotCompliantMBeanException {
        CuFileStatisticsMXBean forged = (CuFileStatisticsMXBean) Proxy.newProxyInstance(
                CuFileStatisticsMXBean.class.getClassLoader(),
                new Class<?>[]{CuFileStatisticsMXBean.class},
                (proxy, method, arguments) -> method.getName().equals("getLevel")
                        ? (Object) 1
                        : value(method.getReturnType(), text));
        return new StandardMBean(forged, CuFileStatisticsMXBean.class, true);
    }

    private static @Nullable Object value(Class<?> type, @Nullable String text) throws ReflectiveOperationException {
        if (type == String.class) {
            return text;
        }
        if (type == int.class) {
            return 1;
        }
        if (type == long.class) {
            return 1L;
        }
        if (type == double.class) {
            return 1.0;
        }
        if (type == Map.class) {
            return text == null ? Map.of() : Map.of(text, 1L);
        }
        if (type == List.class) {
            return List.of();
        }
        if (!type.isRecord()) {
            return null;
        }
        RecordComponent[] parts = type.getRecordComponents();
        Object[] values = new Object[parts.length];
        for (int i = 0; i < parts.length; i++) {
            values[i] = value(parts[i].getType(), text);
        }
        Constructor<?> constructor = type.getDeclaredConstructor(
                Arrays.stream(parts).map(RecordComponent::getType).toArray(Class<?>[]::new));
        return constructor.newInstance(values);
    }
}
