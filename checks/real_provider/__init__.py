"""Sign-in against a certified OpenID provider, `oidc-provider` for Node, and a real holder."""
