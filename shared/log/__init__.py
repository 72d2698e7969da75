"""The ledger as a transparency log, in the formats of RFC 6962 and C2SP: tree, checkpoints, cosignatures, tiles."""
