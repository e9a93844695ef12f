"""The course as a static site: `make site` builds it from executed notebooks."""
