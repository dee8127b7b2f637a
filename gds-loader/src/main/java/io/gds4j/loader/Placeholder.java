package io.gds4j.loader;
/** placeholder */
final class Placeholder {
}
