import type { EvidenceKind } from '../domain/claims.ts';
import type { Mode } from '../domain/ids.ts';
import type { ApproverKey } from './approvals.ts';
import type { Coin } from '../domain/money.ts';
import type { NativeLimitsChange } from '../domain/native-limits.ts';
import type { Network, NetworkSettings } from '../domain/networks.ts';

/*
 * What the main process and the signer say to each other: first one line through the inherited standard input, then
 * JSON lines over a Unix socket.
 */

/** Where a mode's keys come from. Secrets travel through the inherited pipe only, never by argv or environment. */
export type WalletSource =
  | { readonly kind: 'mnemonic'; readonly mnemonic: string }
  | { readonly kind: 'keystore'; readonly file: string; readonly passphrase: string }
  /** Made by the signer itself at the first start, random per directory, encrypted. For the sandbox only. */
  | { readonly kind: 'sandbox'; readonly directory: string };

/** Whom the signer lets in. */
export type SignerDoor =
  /** The process that started it, once: 32 random bytes in hex. */
  | { readonly kind: 'parent'; readonly token: string }
  /**
   * A service that another user runs, again and again, one at a time: both prove that they know the secret, and neither
   * says it.
   */
  | { readonly kind: 'user'; readonly secret: string };

/** The first and only line on the signer's standard input, which stays open: its end is the signer's end. */
export interface SignerBootstrap {
  readonly socketPath: string;
  readonly door: SignerDoor;
  readonly wallets: { readonly [mode in Mode]?: WalletSource };
  /** Absent: the signer derives addresses and signs nothing. */
  readonly payouts?: PayoutRules;
  /** Where the signer remembers which checkpoints it signed: outside the data directory. Absent: it signs none. */
  readonly audit?: { readonly directory: string };
  /** Where a test wants the signer to end (`armCrashPoints`). Refused unless every wallet is the sandbox's own. */
  readonly crashAt?: string;
}

/** What the signer may pay. Amounts are decimal strings in units of the coin. What is not allowed here is denied. */
export interface PayoutRules {
  /** Outside the data directory, so that restoring a backup of the ledger never restores the journal with it. */
  readonly journalDirectory: string;
  readonly networks: readonly PayoutNetwork[];
  readonly limits: { readonly [coin in Coin]?: PayoutLimits };
  readonly payoutsPerHour: number;
  /** Where it differs from what the signer allows by itself. */
  readonly nativeLimits?: NativeLimitsChange;
  /** Withdrawals and settlements. Absent for a coin: none of it leaves that way. */
  readonly treasuryLimits?: { readonly [coin in Coin]?: { readonly perTransaction: string; readonly perDay: string } };
  /** The cold addresses that withdrawals may go to. */
  readonly withdrawalAddresses?: { readonly [mode in Mode]?: Readonly<Partial<Record<Network, readonly string[]>>> };
  /** What is taken as evidence for a refund to another than who paid. Absent: nothing. */
  readonly claims?: readonly EvidenceKind[];
  readonly approvers: readonly ApproverKey[];
}

/** A network with the signer's own way to look at it. */
export interface PayoutNetwork extends Pick<NetworkSettings, 'mode' | 'network' | 'chainId' | 'tokens'> {
  readonly urls: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PayoutLimits {
  readonly perTransaction: string;
  readonly perHour: string;
  readonly perDay: string;
  /** From this amount on two approvers must agree. */
  readonly approvalFrom: string;
}

/** The signer's one line on standard output. */
export type SignerStarted = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** The parent's first line on the socket; everything before it, and every other token, ends the connection. */
export interface SignerGreeting {
  readonly token: string;
}

/** The signer's first line where another user's service is to prove itself: 32 random bytes in hex. */
export interface SignerChallenge {
  readonly challenge: string;
}

/** The service's answer: its own challenge, and a proof over both (`proofOf`). */
export interface ServiceProof extends SignerChallenge {
  readonly proof: string;
}

/** The signer's proof in turn, and what it can do. */
export interface SignerAdmission {
  readonly proof: string;
  readonly modes: readonly Mode[];
  /** False: it has no payout rules and signs nothing. */
  readonly pays: boolean;
}

export interface SignerRequest {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

export type SignerErrorCode = 'unknown_method' | 'invalid_params' | 'no_wallet' | 'internal';

export type SignerAnswer =
  | { readonly id: number; readonly ok: true; readonly result: unknown }
  | {
      readonly id: number;
      readonly ok: false;
      readonly error: { readonly code: SignerErrorCode; readonly message: string };
    };

/** Most Solana keys of one request: an answer stays far below the longest line. */
export const MAX_SOLANA_KEYS_PER_REQUEST = 10_000;
