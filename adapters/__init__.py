"""APIs of other projects. They ask tritond's own API by the front door, as any client does."""
