plugins {
    application
}

repositories {
    mavenLocal()
    mavenCentral()
}

dependencies {
    implementation(platform("io.gds4j:gds-bom:0.1.0-SNAPSHOT"))
    implementation("io.gds4j:gds4j")
}

java {
    toolchain { languageVersion = JavaLanguageVersion.of(25) }
}

application {
    mainClass = "app.App"
    applicationDefaultJvmArgs = listOf("--enable-native-access=ALL-UNNAMED")
}
