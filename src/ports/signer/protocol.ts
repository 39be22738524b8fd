import type { Mode } from '../../domain/values/ids.ts';
import type { ApproverKey } from './approvals.ts';
import type { Coin } from '../../domain/money/money.ts';
import type { NativeLimitsChange } from '../../domain/networks/native-limits.ts';
import type { Network, NetworkSettings } from '../../domain/networks/networks.ts';

/*
 * The protocol between the main process and the signer: first one line through the inherited standard input, then JSON
 * lines over a Unix socket.
 */

/**
 * Where a mode's keys come from. Secrets are passed only through the inherited pipe, never in argv or the environment.
 */
export type WalletSource =
  | { readonly kind: 'mnemonic'; readonly mnemonic: string }
  | { readonly kind: 'keystore'; readonly file: string; readonly passphrase: string }
  /** Created by the signer itself at the first start: random per directory, encrypted. Only for the sandbox. */
  | { readonly kind: 'sandbox'; readonly directory: string };

/** Who may connect to the signer. */
export type SignerDoor =
  /** The process that started it, once: 32 random bytes in hex. */
  | { readonly kind: 'parent'; readonly token: string }
  /**
   * A service of another user, repeatedly, one connection at a time: both sides prove that they know the secret without
   * sending it.
   */
  | { readonly kind: 'user'; readonly secret: string; readonly acceptedRisks: readonly AcceptedRisk[] };

/** The first and only line on the signer's standard input, which stays open: when it closes, the signer ends. */
export interface SignerBootstrap {
  readonly socketPath: string;
  readonly door: SignerDoor;
  readonly wallets: { readonly [mode in Mode]?: WalletSource };
  /** Absent: the signer derives addresses and signs nothing. */
  readonly payouts?: PayoutRules;
  /** Where the signer stores the checkpoints it signed, outside the data directory. Absent: it signs none. */
  readonly audit?: { readonly directory: string };
  /** Crash point for tests (`armCrashPoints`). Refused unless every wallet is a sandbox wallet. */
  readonly crashAt?: string;
}

/** What the signer may pay. Amounts are decimal strings in units of the coin. Everything not allowed here is denied. */
export interface PayoutRules {
  /** Outside the data directory, so that restoring a backup of the event log never restores the journal with it. */
  readonly journalDirectory: string;
  readonly networks: readonly PayoutNetwork[];
  readonly limits: { readonly [coin in Coin]?: PayoutLimits };
  readonly payoutsPerHour: number;
  /** Deviations from the signer's built-in limits. */
  readonly nativeLimits?: NativeLimitsChange;
  /** Limits of withdrawals and settlements. A coin without limits cannot leave that way. */
  readonly treasuryLimits?: { readonly [coin in Coin]?: { readonly perTransaction: string; readonly perDay: string } };
  /** The cold addresses that withdrawals may go to. */
  readonly withdrawalAddresses?: { readonly [mode in Mode]?: Readonly<Partial<Record<Network, readonly string[]>>> };
  readonly approvers: readonly ApproverKey[];
}

/** A network with the signer's own access to it. */
export interface PayoutNetwork extends Pick<NetworkSettings, 'mode' | 'network' | 'chainId' | 'tokens'> {
  readonly urls: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

export interface PayoutLimits {
  readonly perTransaction: string;
  readonly perHour: string;
  readonly perDay: string;
  /** From this amount on two approvers are needed. */
  readonly approvalFrom: string;
}

/** The signer's one line on standard output. */
export type SignerStarted = { readonly ready: true } | { readonly ready: false; readonly reason: string };

/** The parent's first line on the socket. Anything before it, and any other token, ends the connection. */
export interface SignerGreeting {
  readonly token: string;
}

/** The signer's first line if another user's service must prove itself: 32 random bytes in hex. */
export interface SignerChallenge {
  readonly challenge: string;
}

/** The service's answer: its own challenge, and a proof over both (`proofOf`). */
export interface ServiceProof extends SignerChallenge {
  readonly proof: string;
}

/** A risk that settings of live mode take and an operator has accepted, in words for people. */
export interface AcceptedRisk {
  readonly name: string;
  readonly why: string;
}

/** The signer's proof in turn, and its capabilities. */
export interface SignerAdmission {
  readonly proof: string;
  readonly modes: readonly Mode[];
  /** False: it has no payout rules and signs nothing. */
  readonly pays: boolean;
  /** Risks of live mode that its settings take, accepted by its operator. */
  readonly acceptedRisks: readonly AcceptedRisk[];
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

/** Maximum number of Solana keys per request, which keeps the response far below the longest line. */
export const MAX_SOLANA_KEYS_PER_REQUEST = 10_000;
