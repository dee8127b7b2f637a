rootProject.name = "app"
