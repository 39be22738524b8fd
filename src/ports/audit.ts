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
  /** Where the signer keeps them, for people. */
  readonly anchorFile: string;
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

export interface AuditHead {
  /** Events. */
  readonly size: number;
  /** Base64. */
  readonly rootHash: string;
  /** Position of the last of them; null for none. */
  readonly position: string | null;
  /** Events other than signed checkpoints since the tree had the size that was asked about. */
  readonly othersSince: number;
}

export interface AuditState {
  /** Events that are in the tree. */
  readonly size: number;
  /**
   * `checking`: the history before the start is being read; `sound`: all of it is what it was; `damaged`: it is not.
   */
  readonly integrity: 'checking' | 'sound' | 'damaged';
  /** What was found, and where; null unless damaged. */
  readonly fault: string | null;
}

/**
 * The Merkle tree over every event in the ledger's order: an event's leaf is the SHA-256 of its canonical text, in
 * bytes.
 */
export interface AuditTree {
  readonly state: AuditState;
  /** The tree as of now. `since`: a former size. */
  head(since: number): Promise<AuditHead>;
  /** Base64. Rejects with `AuditTreeBehind` while the tree has not reached the size. */
  inclusionProof(leaf: number, size: number): Promise<string[]>;
  consistencyProof(first: number, second: number): Promise<string[]>;
  /** The leaf of an event, or a number beyond the tree for an event that is newer. */
  leafOf(position: string): Promise<number>;
}

/** The tree does not reach that far: history is still being read, or there never were so many events. */
export class AuditTreeBehind extends Error {
  override readonly name = 'AuditTreeBehind';
}

/** A witness outside: it signs a checkpoint only when that continues the last one it saw (c2sp.org/tlog-witness). */
export interface CheckpointWitness {
  /** Signature lines to be added to the note. Rejects when the witness does not answer or refuses. */
  cosign(checkpoint: string, size: number, proofFrom: (size: number) => Promise<readonly string[]>): Promise<string>;
}
