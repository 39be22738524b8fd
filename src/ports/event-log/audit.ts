/** A signed tree head, as the signer remembers it. */
export interface AuditAnchor {
  readonly size: number;
  /** Base64. */
  readonly rootHash: string;
  /** The signed note. */
  readonly checkpoint: string;
}

/** The signing key, and what it has signed. */
export interface AuditIdentity {
  readonly origin: string;
  /** The public key in the form that auditors keep (C2SP signed note, verifier key). */
  readonly verifierKey: string;
  /** Oldest first; the last one is the newest checkpoint. */
  readonly anchors: readonly AuditAnchor[];
  /** The signer's file of anchors, for people. */
  readonly anchorFile: string;
  /** When the signer's directory was backed up last; null if never. Unix milliseconds. */
  readonly backedUpAtMs: number | null;
}

export interface CheckpointRequest {
  readonly size: number;
  /** Base64. */
  readonly rootHash: string;
  /** Base64 proof that the log last signed is a prefix of this one; empty for the first. */
  readonly consistency: readonly string[];
}

export type CheckpointVerdict =
  | { readonly ok: true; readonly checkpoint: string }
  /** The log does not extend what was signed before: it was truncated, rewritten, or is another one. */
  | { readonly ok: false; readonly message: string };

/** The signer's part of tamper evidence: it signs only extensions of what it signed before. */
export interface CheckpointSigner {
  /** Null if the signer signs no checkpoints. */
  auditIdentity(): Promise<AuditIdentity | null>;
  signCheckpoint(request: CheckpointRequest): Promise<CheckpointVerdict>;
}

export interface AuditHead {
  /** Number of events. */
  readonly size: number;
  /** Base64. */
  readonly rootHash: string;
  /** Position of the last of them; null if there are none. */
  readonly position: string | null;
  /** Number of events, without signed checkpoints, since the tree had the requested size. */
  readonly othersSince: number;
}

export interface AuditState {
  /** Number of events in the tree. */
  readonly size: number;
  /** `checking`: the history before the start is being read; `sound`: all of it is unaltered; `damaged`: it is not. */
  readonly integrity: 'checking' | 'sound' | 'damaged';
  /** The fault and its location; null unless damaged. */
  readonly fault: string | null;
}

/** The Merkle tree over every event in log order. An event's leaf is the SHA-256 of its canonical text, in bytes. */
export interface AuditTree {
  readonly state: AuditState;
  /** The current tree. `since`: an earlier size. */
  head(since: number): Promise<AuditHead>;
  /** Base64. Rejects with `AuditTreeBehind` while the tree has not reached the size. */
  inclusionProof(leaf: number, size: number): Promise<string[]>;
  consistencyProof(first: number, second: number): Promise<string[]>;
  /** The leaf index of an event, or a number beyond the tree for a newer event. */
  leafOf(position: string): Promise<number>;
}

/** The tree does not reach that far: history is still being read, or there never were as many events. */
export class AuditTreeBehind extends Error {
  override readonly name = 'AuditTreeBehind';
}

/** An external witness, which signs a checkpoint only if it extends the last one it saw (c2sp.org/tlog-witness). */
export interface CheckpointWitness {
  /** Signature lines to append to the note. Rejects when the witness does not answer or refuses. */
  cosign(checkpoint: string, size: number, proofFrom: (size: number) => Promise<readonly string[]>): Promise<string>;
}
