/**
 * Guard zones around memory and files, a backend of plain Java, and a backend that fails on command: for tests of programs
 * that use gds4j, on ordinary disks and without a GPU. Uses nothing but the public API.
 */
@NullMarked
package io.gds4j.testkit;

import org.jspecify.annotations.NullMarked;
