"""TensorFlow and JAX beside torch: processes of their own, networks, recordings of both."""
