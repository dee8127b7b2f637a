package io.gds4j.config;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Writes values as the text of a cufile.json. */
final class ConfigJson {
    private static final JsonFactory FACTORY = new JsonFactory();

    private ConfigJson() {
    }

    static String text(List<ConfigValue<?>> values) {
        StringWriter text = new StringWriter();
        try (JsonGenerator out = FACTORY.createGenerator(text).useDefaultPrettyPrinter()) {
            section(out, "", values);
        } catch (IOException e) {
            throw new UncheckedIOException(e); // a writer to memory throws none
        }
        return text.append('\n').toString();
    }

    /** @param path what the names of all values begin with */
    private static void section(JsonGenerator out, String path, List<ConfigValue<?>> values) throws IOException {
        Set<String> written = new HashSet<>();
        out.writeStartObject();
        for (ConfigValue<?> value : values) {
            String name = value.key().name();
            int dot = name.indexOf('.', path.length());
            String member = dot < 0 ? name : name.substring(0, dot);
            if (written.add(member)) {
                out.writeFieldName(member.substring(path.length()));
                if (dot < 0) {
                    value(out, value.value());
                } else {
                    String below = member + '.';
                    section(out, below, values.stream()
                            .filter(other -> other.key().name().startsWith(below)).toList());
                }
            }
        }
        out.writeEndObject();
    }

    private static void value(JsonGenerator out, Object value) throws IOException {
        switch (value) {
            case Boolean flag -> out.writeBoolean(flag);
            case Long number -> out.writeNumber(number);
            case List<?> list -> {
                out.writeStartArray();
                for (Object element : list) {
                    value(out, element);
                }
                out.writeEndArray();
            }
            case MountTable table -> {
                out.writeStartObject();
                for (Map.Entry<String, List<String>> mount : table.rdmaDevAddrList().entrySet()) {
                    out.writeObjectFieldStart(mount.getKey());
                    out.writeFieldName("rdma_dev_addr_list");
                    value(out, mount.getValue());
                    out.writeEndObject();
                }
                out.writeEndObject();
            }
            default -> out.writeString(value.toString());
        }
    }
}
