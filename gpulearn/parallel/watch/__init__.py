"""A sanitizer for torch.distributed: what a training on several ranks does silently wrong."""
