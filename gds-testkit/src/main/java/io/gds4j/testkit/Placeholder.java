package io.gds4j.testkit;
/** placeholder */
final class Placeholder {
}
