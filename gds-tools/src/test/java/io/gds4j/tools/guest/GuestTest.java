package io.gds4j.tools.guest;

import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIf;

/** A test of the virtual machine that dev/guest.sh starts; skipped everywhere else, since it writes to whole disks. */
@Tag("guest")
@EnabledIf(value = "io.gds4j.tools.guest.Guest#isHere", disabledReason = "needs the virtual machine of dev/guest.sh")
@Inherited
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@interface GuestTest {
}
