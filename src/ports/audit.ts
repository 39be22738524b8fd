/** A tree head that the signer has signed, as it remembers it. */
export interface AuditAnchor {
  readonly size: number;
  /** Base64. */
  readonly rootHash: string;
  /** The signed note. */
  readonly checkpoint: string;
}

/** Who signs, and what it signed before. */
export interface AuditIdentity {
  readonly origin: string;
  /** The public key as auditors keep it (C2SP signed note, verifier key). */
  readonly verifierKey: string;
  /** Oldest first; the last one is the newest checkpoint. */
  readonly anchors: readonly AuditAnchor[];
}

export interface CheckpointRequest {
  readonly size: number;
  /** Base64. */
  readonly rootHash: string;
  /** Base64: that the log the signer signed last is the beginning of this one; empty for the first. */
  readonly consistency: readonly string[];
}

export type CheckpointVerdict =
  | { readonly ok: true; readonly checkpoint: string }
  /** The log is not a continuation of what was signed before: it was cut off, rewritten, or is another one. */
  | { readonly ok: false; readonly message: string };

/** The signer's part of tamper evidence: it signs only what continues what it signed before. */
export interface CheckpointSigner {
  /** Null when the signer signs no checkpoints. */
  auditIdentity(): Promise<AuditIdentity | null>;
  signCheckpoint(request: CheckpointRequest): Promise<CheckpointVerdict>;
}
