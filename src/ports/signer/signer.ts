import type { Mode } from '../../domain/values/ids.ts';
import type { ApprovalSigner } from './approvals.ts';
import type { CheckpointSigner } from '../event-log/audit.ts';
import type { OutgoingSigner } from '../outgoing/signer.ts';

/** What watch-only derivation of addresses needs. Never a private key. */
export interface WatchOnlyExport {
  readonly mode: Mode;
  /** Extended public key of `m/44'/60'/0'/0` (BIP-32, BIP-44). */
  readonly evmXpub: string;
  /** Extended public key of `m/44'/195'/0'/0`. */
  readonly tronXpub: string;
  /** Public keys (base58) of `m/44'/501'/i'/0'`, i from 0 (SLIP-10 has no public derivation for ed25519). */
  readonly solanaPool: readonly string[];
}

/** The only holder of keys, in a process of its own. */
export interface Signer extends OutgoingSigner, ApprovalSigner, CheckpointSigner {
  exportWatchOnly(mode: Mode, solanaPoolSize: number): Promise<WatchOnlyExport>;
  /** Public keys (base58) of `m/44'/501'/i'/0'` for `count` indexes from `fromIndex` on. */
  exportSolanaKeys(mode: Mode, fromIndex: number, count: number): Promise<readonly string[]>;
  close(): Promise<void>;
}
