package io.gds4j.spark.catalogue;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.BiPredicate;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import org.apache.spark.sql.sources.AlwaysFalse;
import org.apache.spark.sql.sources.AlwaysTrue;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Not;
import org.apache.spark.sql.sources.Or;
import org.apache.spark.sql.sources.StringContains;
import org.apache.spark.sql.sources.StringEndsWith;
import org.apache.spark.sql.sources.StringStartsWith;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** Translates Spark's filters into tests of a row of {@link TensorRows}, which has no nulls. */
final class RowFilter {
    private RowFilter() {
    }

    /** Returns the test that keeps what the filter keeps; empty for a filter that Spark itself has to run. */
    static Optional<Predicate<Object[]>> of(Filter filter) {
        return switch (filter) {
            case EqualTo equal -> compared(equal.attribute(), equal.value(), order -> order == 0);
            case EqualNullSafe equal -> compared(equal.attribute(), equal.value(), order -> order == 0);
            case LessThan less -> compared(less.attribute(), less.value(), order -> order < 0);
            case LessThanOrEqual less -> compared(less.attribute(), less.value(), order -> order <= 0);
            case GreaterThan greater -> compared(greater.attribute(), greater.value(), order -> order > 0);
            case GreaterThanOrEqual greater -> compared(greater.attribute(), greater.value(), order -> order >= 0);
            case In in -> in(in);
            case StringStartsWith text -> text(text.attribute(), text.value(), UTF8String::startsWith);
            case StringEndsWith text -> text(text.attribute(), text.value(), UTF8String::endsWith);
            case StringContains text -> text(text.attribute(), text.value(), UTF8String::contains);
            case And and -> of(and.left()).flatMap(left -> of(and.right()).map(left::and));
            case Or or -> of(or.left()).flatMap(left -> of(or.right()).map(left::or));
            case Not not -> of(not.child()).map(Predicate::negate);
            case IsNotNull present -> column(present.attribute()).map(column -> row -> true);
            case IsNull absent -> column(absent.attribute()).map(column -> row -> false);
            case AlwaysTrue always -> Optional.of(row -> true);
            case AlwaysFalse never -> Optional.of(row -> false);
            default -> Optional.empty();
        };
    }

    private static Optional<Integer> column(String attribute) {
        int column = Arrays.asList(TensorRows.SCHEMA.fieldNames()).indexOf(attribute);
        return column < 0 ? Optional.empty() : Optional.of(column);
    }

    private static Optional<Predicate<Object[]>> compared(
            String attribute, @Nullable Object value, IntPredicate accepted) {
        return column(attribute).flatMap(column -> switch (value) {
            case String text -> {
                // as Spark orders text: by bytes
                UTF8String bytes = UTF8String.fromString(text);
                yield Optional.of(row -> row[column] instanceof UTF8String own && accepted.test(own.compareTo(bytes)));
            }
            case Long number ->
                Optional.of(row -> row[column] instanceof Long own && accepted.test(own.compareTo(number)));
            case Boolean flag ->
                Optional.of(row -> row[column] instanceof Boolean own && accepted.test(own.compareTo(flag)));
            // a comparison with null is neither true nor false; arrays are left to Spark
            case null, default -> Optional.empty();
        });
    }

    private static Optional<Predicate<Object[]>> in(In in) {
        List<Optional<Predicate<Object[]>>> equal = Arrays.stream(in.values())
                .map(value -> compared(in.attribute(), value, order -> order == 0))
                .toList();
        return equal.stream().allMatch(Optional::isPresent)
                ? Optional.of(row -> equal.stream().anyMatch(test -> test.get().test(row)))
                : Optional.empty();
    }

    private static Optional<Predicate<Object[]>> text(
            String attribute, String value, BiPredicate<UTF8String, UTF8String> accepted) {
        UTF8String bytes = UTF8String.fromString(value);
        return column(attribute).map(column -> row -> row[column] instanceof UTF8String own
                && accepted.test(own, bytes));
    }
}
