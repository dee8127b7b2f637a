package io.gds4j.loader;

import io.gds4j.loader.format.ZipBytes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.random.RandomGenerator;

/** Makes folders of hostile files: links, loops, pipes, sizes, nesting, lengths and names, in every format and index. */
final class HostileFolders {
    private static final String[] NAMES = {
            "w", "model.norm.weight", "model.layers.0.self_attn.q_proj.weight", "a.b", "..", "../w", "/etc/passwd", "",
            ".",
            "a\u001b[2J", "a\nb", "\u202e", "\u0000", "\ufffe", "\ud83d\ude00", "__metadata__", "é", "a\\b", "%s%n",
            "'\"",
            "con", "*", "experts.1.w1.weight", "a".repeat(300)};
    private static final String[] PATHS = {
            "d.bin", "w.safetensors", "./d.bin", "x/../d.bin", "../canary/secret", "../../canary/secret",
            "/etc/hostname", "out/secret", "out/../canary/secret", "",
            ".", "..", "link", "loop", "pipe", "down/secret", "zero", "none", "a\u0000b", "d.bin/", "broken"};
    private static final long[] NUMBERS = {
            0, 1, 2, 3, 4, 7, 8, 24, 64, 255, 4096, 1 << 20, Integer.MAX_VALUE, 1L << 32, 1L << 40, 1L << 62,
            Long.MAX_VALUE,
            Long.MIN_VALUE, -1, -8};
    private static final String[] TYPES = {"F32", "U8", "BF16", "I64", "F4", "BOOL", "X", "", "C64"};
    private static final String OPCODES =
            "N\u0088\u0089KMJGX(])}tledsuqhbcQR.\u0085\u0086\u0087\u0094\u0093\u0081ar\u0095S";

    private final Path canary;
    private final Path pipe;
    private final RandomGenerator random;

    /**
     * Not yet a folder.
     *
     * @param canary folder that links lead to
     * @param pipe a pipe on the same file system
     */
    HostileFolders(Path canary, Path pipe, RandomGenerator random) {
        this.canary = canary;
        this.pipe = pipe;
        this.random = random;
    }

    /** Fills a folder, and returns the path that a user would open. */
    Path make(Path folder) throws IOException {
        put(folder, "d.bin", new byte[random.nextInt(300)]);
        for (int i = random.nextInt(3); i > 0; i--) {
            special(folder, pick(PATHS));
        }
        Files.createSymbolicLink(folder.resolve("out"), canary);
        String name = switch (random.nextInt(9)) {
            case 0, 1 -> put(folder, "model.safetensors", safetensors());
            case 2 -> put(folder, "m.pt", torch());
            case 3 -> put(folder, "m.gguf", gguf());
            case 4 -> put(folder, "m.npy", npy());
            case 5 -> put(folder, "m.npz", ZipBytes.plain().finish());
            case 6 -> put(folder, "l.extents.json", extents().getBytes(StandardCharsets.UTF_8));
            case 7 -> put(folder, "model.safetensors.index.json", index().getBytes(StandardCharsets.UTF_8));
            default -> special(folder, "model.safetensors");
        };
        if (random.nextInt(4) == 0) {
            put(folder, "w.safetensors", safetensors());
        }
        if (random.nextInt(3) == 0) {
            put(folder, "config.json", mutated(json(0).getBytes(StandardCharsets.UTF_8)));
        }
        put(folder, "plan.json", mutated(plan().getBytes(StandardCharsets.UTF_8)));
        return random.nextInt(3) == 0 ? folder : folder.resolve(name);
    }

    private String put(Path folder, String name, byte[] bytes) throws IOException {
        if (random.nextInt(40) == 0) {
            return special(folder, name);
        }
        try {
            Files.write(folder.resolve(name), bytes, StandardOpenOption.CREATE_NEW);
        } catch (IOException e) {
            return name; // a link or a pipe has the name already
        }
        return name;
    }

    private String special(Path folder, String name) throws IOException {
        if (name.isEmpty() || name.contains("\0") || name.contains("/") || name.startsWith(".")
                || Files.exists(folder.resolve(name), LinkOption.NOFOLLOW_LINKS)) {
            return name;
        }
        Path path = folder.resolve(name);
        try {
            switch (random.nextInt(11)) {
                case 0 -> Files.createLink(path, pipe);
                case 1 -> Files.createSymbolicLink(path, path);
                case 2 -> Files.createSymbolicLink(path, canary.resolve("secret"));
                case 3 -> Files.createSymbolicLink(path, canary.resolve("new"));
                case 4 -> Files.createSymbolicLink(path, Path.of("/dev/zero"));
                case 5 -> Files.createSymbolicLink(path, Path.of("/proc/self/status"));
                case 6 -> Files.createDirectory(path);
                case 7 -> Files.createSymbolicLink(path, pipe);
                case 8 -> Files.createSymbolicLink(path, Path.of("out/secret"));
                case 9 -> Files.createSymbolicLink(path, Path.of("d.bin"));
                default -> Files.createSymbolicLink(path, folder);
            }
        } catch (FileAlreadyExistsException e) {
            return name;
        }
        return name;
    }

    private String pick(String... of) {
        return of[random.nextInt(of.length)];
    }

    private long number() {
        return random.nextInt(3) == 0 ? NUMBERS[random.nextInt(NUMBERS.length)] : random.nextInt(40);
    }

    private String name() {
        return random.nextInt(300) == 0 ? "x".repeat(1 << random.nextInt(15)) : pick(NAMES);
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c < ' ' || c == '"' || c == '\\' || c > 126 && !Character.isLetter(c)) {
                json.append("\\u%04x".formatted((int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }

    private String shape() {
        StringBuilder shape = new StringBuilder("[");
        for (int i = random.nextInt(50) == 0 ? random.nextInt(1000) : random.nextInt(4); i > 0; i--) {
            shape.append(Long.toUnsignedString(number())).append(i > 1 ? "," : "");
        }
        return shape.append(']').toString();
    }

    private byte[] safetensors() {
        StringBuilder header = new StringBuilder("{");
        if (random.nextInt(3) == 0) {
            header.append("\"__metadata__\":{").append(quoted(name())).append(':').append(quoted(name()))
                    .append(",\"gds4j.alias.").append(random.nextInt(3)).append("\":").append(quoted(name()))
                    .append("},");
        }
        int at = 0;
        int count = random.nextInt(4);
        for (int i = 0; i < count; i++) {
            // half of them are valid, so that later checks have their turn
            int bytes = random.nextInt(30);
            boolean valid = random.nextBoolean();
            header.append(quoted(name() + (random.nextInt(5) == 0 ? "" : "." + i)))
                    .append(":{\"dtype\":\"").append(valid ? "U8" : pick(TYPES)).append("\",\"shape\":")
                    .append(valid ? "[" + bytes + "]" : shape()).append(",\"data_offsets\":[")
                    .append(valid ? at : Long.toUnsignedString(number())).append(',')
                    .append(valid ? at + bytes : Long.toUnsignedString(number())).append("]")
                    .append(random.nextInt(20) == 0 ? ",\"more\":" + json(0) : "").append('}')
                    .append(i < count - 1 ? "," : "");
            at += bytes;
        }
        byte[] file = HeaderText.file(header.append('}').toString(), at);
        return random.nextBoolean() ? file : mutated(file);
    }

    private String json(int depth) {
        return switch (random.nextInt(depth > 6 ? 4 : 8)) {
            case 0 -> Long.toString(number());
            case 1 -> quoted(name());
            case 2 -> "null";
            case 3 -> random.nextInt(20) == 0 ? "[".repeat(random.nextInt(400)) : "1e999";
            case 4, 5 -> "[" + json(depth + 1) + "," + json(depth + 1) + "]";
            default -> "{" + quoted(pick("num_attention_heads", "text_config", "a", "num_key_value_heads")) + ":"
                    + json(depth + 1) + "}";
        };
    }

    private byte[] torch() {
        ByteArrayOutputStream pickle = new ByteArrayOutputStream();
        pickle.writeBytes(new byte[]{(byte) 0x80, 2, '}', '('});
        for (int i = random.nextInt(60); i > 0; i--) {
            if (random.nextInt(3) == 0) {
                byte[] text = name().getBytes(StandardCharsets.UTF_8);
                pickle.write('X');
                pickle.writeBytes(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(text.length).array());
                pickle.writeBytes(text);
            } else if (random.nextInt(6) == 0) {
                pickle.writeBytes("ctorch._utils\n_rebuild_tensor_v2\n".getBytes(StandardCharsets.US_ASCII));
            } else {
                int opcode = OPCODES.charAt(random.nextInt(OPCODES.length()));
                for (int repeat = random.nextInt(100) == 0 ? random.nextInt(100_000) : 1; repeat > 0; repeat--) {
                    pickle.write(opcode);
                }
                pickle.write(random.nextInt(3));
            }
        }
        pickle.writeBytes(new byte[]{'u', '.'});
        ZipBytes zip = ZipBytes.asTorch();
        zip.add("archive/data.pkl", pickle.toByteArray());
        zip.add("archive/data/0", new byte[random.nextInt(50)]);
        zip.add("archive/" + pick("version", "../x", "data/0"), new byte[]{'3', '\n'});
        byte[] file = zip.finish();
        return random.nextInt(3) > 0 ? file : mutated(file);
    }

    private byte[] gguf() {
        GgufBytes file = new GgufBytes().key("general.architecture", name()).key(name(), name());
        if (random.nextInt(4) == 0) {
            file.announce(number(), number());
        }
        file.tensor(name(), random.nextInt(40), random.nextInt(100), 1 + random.nextInt(40));
        byte[] bytes = file.file();
        return random.nextInt(3) == 0 ? bytes : mutated(bytes);
    }

    private byte[] npy() {
        String header = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n".formatted(
                pick("<f4", "|u1", ">i8", "|O", "<U999999999", "|V0", "[('a','<f4')]"), pick("True", "False", "1"),
                random.nextInt(10) == 0 ? "(".repeat(random.nextInt(5000)) : number() + "," + number());
        byte[] text = header.getBytes(StandardCharsets.ISO_8859_1);
        byte[] file = ByteBuffer.allocate(10 + text.length + 50).order(ByteOrder.LITTLE_ENDIAN)
                .put(new byte[]{(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}).putShort((short) text.length).put(text)
                .array();
        return random.nextBoolean() ? file : mutated(file);
    }

    private String extents() {
        StringBuilder list = new StringBuilder("{\"schema\": \"gds4j.extents/1\", \"extents\": [");
        for (int i = random.nextInt(4); i > 0; i--) {
            int bytes = random.nextInt(20);
            list.append("{\"name\":").append(quoted(name() + i)).append(",\"file\":").append(quoted(pick(PATHS)))
                    .append(",\"offset\":").append(random.nextInt(3) == 0 ? number() : random.nextInt(20))
                    .append(",\"bytes\":").append(bytes).append(",\"dtype\":\"U8\",\"shape\":[").append(bytes)
                    .append(i > 1 ? "]}," : "]}");
        }
        return list.append("]}").toString();
    }

    private String index() {
        StringBuilder index =
                new StringBuilder("{\"metadata\":{\"total_size\":").append(number()).append("},\"weight_map\":{");
        for (int i = random.nextInt(4); i > 0; i--) {
            index.append(quoted(name() + i)).append(':').append(quoted(pick(PATHS))).append(i > 1 ? "," : "");
        }
        return index.append("}}").toString();
    }

    private String plan() {
        StringBuilder plan = new StringBuilder("{");
        for (int i = random.nextInt(6); i > 0; i--) {
            plan.append(quoted(random.nextBoolean() ? "*".repeat(1 + random.nextInt(3)) + i : name() + i)).append(':')
                    .append(random.nextBoolean() ? "\"" + pick("colwise", "rowwise", "replicate", "x") + "\"" : json(0))
                    .append(',');
        }
        return plan.append("\"*\":\"replicate\"}").toString();
    }

    private byte[] mutated(byte[] bytes) {
        if (bytes.length == 0 || random.nextInt(3) == 0) {
            return bytes;
        }
        byte[] changed = random.nextInt(4) == 0
                ? Arrays.copyOf(bytes, random.nextInt(bytes.length + 20))
                : bytes.clone();
        for (int i = random.nextInt(3); i > 0 && changed.length >= 8; i--) {
            int at = random.nextInt(changed.length - 7);
            if (random.nextBoolean()) {
                ByteBuffer.wrap(changed).order(ByteOrder.LITTLE_ENDIAN).putLong(at, number());
            } else {
                changed[at] = (byte) random.nextInt(256);
            }
        }
        return changed;
    }
}
