package io.gds4j.config;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The allowed values of a key.
 *
 * @param allowed type and range in words
 * @param check returns the canonical form of an allowed value, empty for another
 * @param range smallest and largest value of a number
 */
record Constraint<T>(String allowed, Function<T, Optional<T>> check, Optional<ParameterRange> range) {

    private static final String OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    private static final String IPV4 = OCTET + "(\\." + OCTET + "){3}";
    private static final String HEX32 = "0[xX][0-9a-fA-F]{1,8}";

    Optional<T> accept(T value) {
        return check.apply(value);
    }

    private static <T> Constraint<T> of(String allowed, Predicate<T> test) {
        return new Constraint<>(allowed, value -> Optional.of(value).filter(test), Optional.empty());
    }

    /** Allows every value of the type. */
    static <T> Constraint<T> any(ValueType<T> type) {
        return of(type.noun(), value -> true);
    }

    /** Allows multiples of {@code step} from {@code min} to {@code max}; step 1 allows every number. */
    static Constraint<Long> number(long min, long max, long step) {
        String words = "an integer, " + min + " to " + max + (step == 1 ? "" : ", a multiple of " + step);
        return new Constraint<>(
                words,
                value -> Optional.of(value).filter(v -> v >= min && v <= max && v % step == 0),
                Optional.of(new ParameterRange(min, max)));
    }

    /** Allows {@code off}, and {@code min} to {@code max}. */
    static Constraint<Long> numberOr(long off, long min, long max) {
        return new Constraint<>(
                "an integer, " + off + " or " + min + " to " + max,
                value -> Optional.of(value).filter(v -> v == off || v >= min && v <= max),
                Optional.of(new ParameterRange(off, max)));
    }

    /** Allows {@code fewest} to {@code most} numbers, each as in {@link #number}. */
    static Constraint<List<Long>> numbers(int fewest, int most, long min, long max, long step) {
        Constraint<Long> element = number(min, max, step);
        return of(
                "an array of " + fewest + " to " + most + ", each " + element.allowed(),
                list -> list.size() >= fewest
                        && list.size() <= most
                        && list.stream().allMatch(v -> element.accept(v).isPresent()));
    }

    /** Allows one of the words in any case; the canonical form is the word as listed. */
    static Constraint<String> oneOf(String... words) {
        return new Constraint<>(
                "one of " + quoted(words),
                value -> Stream.of(words).filter(word -> word.equalsIgnoreCase(value)).findFirst(),
                Optional.empty());
    }

    /** Allows a list of the words without repetition. */
    static Constraint<List<String>> someOf(String... words) {
        Set<String> known = Set.of(words);
        return of(
                "an array of different ones of " + quoted(words),
                list -> known.containsAll(list) && Set.copyOf(list).size() == list.size());
    }

    static Constraint<List<String>> ipv4List() {
        return of(
                "an array of IPv4 addresses",
                list -> list.stream().allMatch(address -> address.matches(IPV4)));
    }

    static Constraint<List<String>> names() {
        return of("an array of strings that are not blank", list -> list.stream().noneMatch(String::isBlank));
    }

    static Constraint<String> hex32() {
        return of("a string \"0x..\" of 1 to 8 hexadecimal digits", text -> text.matches(HEX32));
    }

    static Constraint<String> path() {
        return of("a string, the path of a file or directory", text -> text.indexOf('\0') < 0);
    }

    static Constraint<MountTable> mounts() {
        Constraint<List<String>> addresses = ipv4List();
        return of(
                ValueType.MOUNTS.noun() + " of absolute mount points and IPv4 addresses",
                table -> table.rdmaDevAddrList().entrySet().stream()
                        .allMatch(entry -> entry.getKey().indexOf('\0') < 0
                                && Path.of(entry.getKey()).isAbsolute()
                                && addresses.accept(entry.getValue()).isPresent()));
    }

    private static String quoted(String... words) {
        return '"' + String.join("\", \"", words) + '"';
    }
}
