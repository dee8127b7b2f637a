package io.gds4j.testkit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Sets the number of fake GPUs of tests with {@code @ExtendWith(GdsExtension.class)}: of one method, or of all methods of a class that
 * have no number of their own.
 *
 * @since 0.1
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface FakeGpus {
    /** {@return number of GPUs, 1 to 64} */
    int value();
}
