"""APIs of other projects. They use tritond's public API, like any other client."""
