"""The two collections that come with the project, written for it: `demo:chunks` and `demo:questions`."""
