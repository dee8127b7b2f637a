package io.gds4j.tools.plot;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleFunction;
import java.util.function.DoubleUnaryOperator;

/** The scale of an axis: its ends, its ticks, and the place of a value between the ends. */
final class Axis {
    private static final double KIB = 1024;
    /** Ticks of a linear axis, about. */
    private static final int LINEAR_TICKS = 5;
    /** A logarithmic axis of more decades has ticks at powers of ten only. */
    private static final int MAX_DETAILED_DECADES = 3;
    /** Tolerance of a comparison with a tick that was computed, as a part of a step. */
    private static final double ROUNDING = 1e-9;

    private final DoubleUnaryOperator scale;
    private final double low;
    private final double high;
    private final List<Tick> ticks;

    /**
     * A labelled value.
     *
     * @param position place on the axis, from 0 to 1
     * @param label its text
     */
    record Tick(double position, String label) {
    }

    private Axis(DoubleUnaryOperator scale, double[] values, DoubleFunction<String> label) {
        this.scale = scale;
        this.low = scale.applyAsDouble(values[0]);
        this.high = scale.applyAsDouble(values[values.length - 1]);
        this.ticks = new ArrayList<>();
        for (double value : values) {
            ticks.add(new Tick(position(value), label.apply(value)));
        }
    }

    /** Returns an axis of sizes in bytes, with a tick at each power of two. */
    static Axis ofSizes(double least, double most) {
        int first = (int) Math.floor(log2(least));
        int last = Math.max(first + 1, (int) Math.ceil(log2(most) - ROUNDING));
        double[] powers = new double[last - first + 1];
        for (int i = 0; i < powers.length; i++) {
            powers[i] = Math.scalb(1.0, first + i);
        }
        return new Axis(Axis::log2, powers, Axis::size);
    }

    /** Returns an axis from 0 to the value or a little more, with ticks at round numbers. */
    static Axis linear(double most) {
        double raw = most / LINEAR_TICKS;
        double power = Math.pow(10, Math.floor(Math.log10(raw)));
        double step = power * (raw <= power ? 1 : raw <= 2 * power ? 2 : raw <= 5 * power ? 5 : 10);
        int steps = Math.clamp((long) Math.ceil(most / step - ROUNDING), 1, 2 * LINEAR_TICKS);
        double[] values = new double[steps + 1];
        for (int i = 0; i <= steps; i++) {
            values[i] = i * step;
        }
        return new Axis(value -> value, values, Axis::plain);
    }

    /** Returns a logarithmic axis whose ends are 1, 2 or 5 times a power of ten. */
    static Axis logarithmic(double least, double most) {
        int first = (int) Math.floor(Math.log10(least));
        int last = (int) Math.floor(Math.log10(most));
        List<Double> values = new ArrayList<>();
        for (int exponent = first; exponent <= last; exponent++) {
            for (int digit : last - first <= MAX_DETAILED_DECADES ? new int[]{1, 2, 5} : new int[]{1}) {
                values.add(digit * Math.pow(10, exponent));
            }
        }
        values.add(Math.pow(10, last + 1));
        while (values.size() > 2 && values.get(1) <= least) {
            values.removeFirst();
        }
        while (values.size() > 2 && values.get(values.size() - 2) >= most) {
            values.removeLast();
        }
        return new Axis(Math::log10, values.stream().mapToDouble(Double::doubleValue).toArray(), Axis::plain);
    }

    /** Returns the ticks, lowest first; the first and the last are the ends. */
    List<Tick> ticks() {
        return List.copyOf(ticks);
    }

    /** Returns the place of a value on the axis: 0 at the lower end, 1 at the upper one. */
    double position(double value) {
        return (scale.applyAsDouble(value) - low) / (high - low);
    }

    private static double log2(double value) {
        return Math.log(value) / Math.log(2);
    }

    /** Formats a number without an exponent: 10000, 0.05. */
    private static String plain(double value) {
        return BigDecimal.valueOf(value).round(new MathContext(6)).stripTrailingZeros().toPlainString();
    }

    private static String size(double bytes) {
        if (bytes >= KIB * KIB * KIB) {
            return shown(bytes / (KIB * KIB * KIB)) + " GiB";
        }
        if (bytes >= KIB * KIB) {
            return shown(bytes / (KIB * KIB)) + " MiB";
        }
        return bytes >= KIB ? shown(bytes / KIB) + " KiB" : shown(bytes) + " B";
    }

    private static String shown(double value) {
        return String.format(Locale.ROOT, "%.0f", value);
    }
}
