/** Beans of Spring Boot for gds4j. An application configures them by properties that begin with {@code gds4j}, and calls no class here. */
package io.gds4j.spring;
